package meter

import (
	"fmt"
	"math"

	"knee/data"
	"knee/profile/launch"
)

// Contradiction says how the told times of the steady steps differ from the
// times at which their lines arrived, empty if they agree up to a factor nearer
// to 1 than to 2; took is the seconds of the trial, 0 if not known. A trainer
// that simulates has any times. Times that are too short are said if most of the
// time between lines would be outside of steps.
//
// Lines may arrive in bursts, from a buffer or a log that is read now and then:
// those that come first together tell of steps before, and a span is known up to
// the longest pause. Ranks that cannot be told apart and print no counter may all
// have printed every step.
func (m *Meter) Contradiction(took float64) string {
	_, steady, _ := m.steady()
	s, all := &m.series, total(steady)
	if all.n < FewestSteps || s.last.IsZero() {
		return ""
	}
	ranks := 1.0
	if math.IsNaN(all.counted) && m.ranks.current == launch.UnknownRank {
		ranks = float64(m.config.Workers)
	}
	if m.ranks.want == data.AllRanks {
		all.counted = math.NaN() // a round is a step of every rank
	}
	switch most, least := all.span+s.pause, all.span-s.pause; {
	case took > 0 && all.lines > math.Sqrt2*max(took, most)*ranks:
		return fmt.Sprintf("its %d step times add up to %.3g s, but it took %.3g s%s", all.n, all.lines, took, s.mistake(all.lines/took))
	case all.told > math.Sqrt2*most*ranks:
		return fmt.Sprintf("its step times add up to %.3g s, but their lines came within %.3g s%s", all.told, most, s.mistake(all.told/most))
	case all.counted > math.Sqrt2*most:
		return fmt.Sprintf("its step times add up to %.3g s for the steps that it counts, but their lines came within %.3g s: "+
			"is a step time that of several steps, or does the counter not count steps", all.counted, most)
	case all.counted < least/2:
		return fmt.Sprintf("its steps take %.3g s of the %.3g s in which their lines came: do the times leave out a part, such as "+
			"waiting for the GPU (torch.cuda.synchronize) or for data, or are they in another unit", all.counted, least)
	}
	return ""
}

// mistake returns the likely reason for times that are too long by a factor.
func (s *series) mistake(factor float64) string {
	units := []string{"milliseconds: print step_time_ms", "microseconds", "nanoseconds"}
	power := int(math.Round(math.Log10(factor) / 3)) // of 1000, the nearest
	switch {
	case s.rates:
		return ": is the throughput that of one worker (then print worker_throughput), or not in samples/s"
	case power > 0:
		power = min(power, len(units))
		return fmt.Sprintf(": they look like %s, or divide by 1e%d", units[power-1], 3*power)
	}
	return ": a step time is that of one optimizer step, in seconds"
}
