package simulate

import "math"

// survival is what is known of how far jobs come: the shares of their declared
// work at which those that ended, for whatever reason, did.
type survival struct {
	count [survivalBins + 1]float64 // by share; the last bin completed
}

const survivalBins = 256

func (s *survival) add(share float64) {
	s.count[int(survivalBins*math.Max(0, math.Min(1, share)))]++
}

// factor is what of the rest of its declared work a job that has done a share
// of it is expected to do: the mean of the jobs that came that far, and of one
// that completes for want of others.
func (s *survival) factor(done float64) float64 {
	if done >= 1 {
		return 1
	}
	jobs, sum := 1.0, 1.0
	for b := int(survivalBins*done) + 1; b < len(s.count); b++ {
		jobs += s.count[b]
		sum += s.count[b] * float64(b) / survivalBins
	}
	return math.Min(1, (sum/jobs-done)/(1-done))
}
