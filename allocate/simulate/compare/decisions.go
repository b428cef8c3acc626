package compare

import "time"

// decisions collects how long a policy took, each time it was asked.
type decisions struct{ ms []float64 }

func (d *decisions) add(t time.Duration) {
	d.ms = append(d.ms, float64(t)/float64(time.Millisecond))
}

// summary is the mean and the 99 % quantile in milliseconds, 0 if nothing was
// timed.
func (d *decisions) summary() (mean, p99 float64) {
	if len(d.ms) == 0 {
		return 0, 0
	}
	return summary(d.ms)
}
