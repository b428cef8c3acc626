package meter

import (
	"fmt"
	"math"
	"time"
)

// told sums the step times that a rank tells, to compare them with the times at
// which its lines arrived. Lines may arrive in bursts, from a buffer or a log
// that is read now and then: the first to arrive together tell of steps before,
// and the time to the last is known up to the longest pause.
type told struct {
	lines       int
	first, last time.Time
	pause       float64 // seconds, longest between arrivals
	all         float64 // seconds, Σ of every line
	after       float64 // the same of lines after the first arrival
	spanned     float64 // the same times the steps since the line before; NaN if a line has no counter
	rates       bool    // computed from samples/s
}

// add takes the seconds that a line tells of a step, and the steps since the line
// before, NaN if it does not count them.
func (t *told) add(at time.Time, seconds, steps float64, rate bool) {
	if t.lines == 0 {
		t.first, t.last = at, at
	}
	t.lines++
	t.rates = t.rates || rate
	t.all += seconds
	if at.After(t.first) {
		t.after += seconds
		t.spanned += seconds * steps
	}
	t.pause = max(t.pause, at.Sub(t.last).Seconds())
	t.last = at
}

// contradiction says how the told times differ from those of arrival, empty if
// they agree up to a factor nearer to 1 than to 2. They are impossible if they
// add up to more than the trial took. Times that are too short are said if most
// of the time between lines would be outside of steps. sharing is how many ranks
// may have printed lines that cannot be told apart, took the seconds of the
// trial, 0 if not known.
func (t *told) contradiction(sharing int, took float64) (text string, impossible bool) {
	if t.lines < FewestSteps || t.last.IsZero() {
		return "", false
	}
	ranks := 1.0
	if math.IsNaN(t.spanned) {
		ranks = float64(sharing)
	}
	span := t.last.Sub(t.first).Seconds()
	switch most, least := span+t.pause, span-t.pause; {
	case took > 0 && t.all > math.Sqrt2*max(took, most)*ranks:
		return fmt.Sprintf("its %d step times add up to %.3g s, but it took %.3g s%s", t.lines, t.all, took, t.mistake(t.all/took)), true
	case t.after > math.Sqrt2*most*ranks:
		return fmt.Sprintf("its step times add up to %.3g s, but their lines came within %.3g s%s", t.after, most, t.mistake(t.after/most)), false
	case t.spanned > math.Sqrt2*most:
		return fmt.Sprintf("its step times add up to %.3g s for the steps that it counts, but their lines came within %.3g s: "+
			"is a step time that of several steps, or does the counter not count steps", t.spanned, most), false
	case t.spanned < least/2:
		return fmt.Sprintf("its steps take %.3g s of the %.3g s in which their lines came: do the times leave out a part, such as "+
			"waiting for the GPU (torch.cuda.synchronize) or for data, or are they in another unit", t.spanned, least), false
	}
	return "", false
}

// mistake returns the likely reason for times that are too long by a factor.
func (t *told) mistake(factor float64) string {
	units := []string{"milliseconds: print step_time_ms", "microseconds", "nanoseconds"}
	power := int(math.Round(math.Log10(factor) / 3)) // of 1000, the nearest
	switch {
	case t.rates:
		return ": is the throughput that of one worker (then print worker_throughput), or not in samples/s"
	case power > 0:
		power = min(power, len(units))
		return fmt.Sprintf(": they look like %s, or divide by 1e%d", units[power-1], 3*power)
	}
	return ": a step time is that of one optimizer step, in seconds"
}
