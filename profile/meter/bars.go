package meter

import (
	"time"

	"knee/profile/launch"
)

// bars tells the progress bar of the training from others, as of evaluation or of
// loading, by their lengths: it takes the longest.
type bars struct {
	metered float64 // steps of the bar that is metered; 0 without one
	others  map[float64]*bar
}

// bar is a bar that is not metered.
type bar struct {
	step, seconds float64
	at            time.Time
}

// take notes an observation and reports whether its bar is metered in place of another,
// as it has taken longer than the seconds metered.
func (b *bars) take(o launch.Observation, seconds float64) (instead bool) {
	switch {
	case !(o.Total > 0) || o.Total == b.metered:
		return false
	case b.metered == 0:
		b.metered, b.others = o.Total, map[float64]*bar{}
		return false
	case b.others[o.Total] == nil:
		b.others[o.Total] = &bar{step: o.Step, at: o.At}
	}
	x := b.others[o.Total]
	switch {
	case !(o.Step > x.step):
	case o.StepTime > 0:
		x.seconds += o.StepTime * (o.Step - x.step)
	default:
		x.seconds += o.At.Sub(x.at).Seconds()
	}
	x.step, x.at = o.Step, o.At
	if !(x.seconds > seconds) {
		return false
	}
	delete(b.others, o.Total)
	b.others[b.metered] = &bar{seconds: seconds}
	b.metered = o.Total
	return true
}
