package meter

import (
	"math"
	"time"

	"knee/profile/launch"
)

// clock reads the step times of one rank from its observations.
type clock struct {
	samples float64   // per step, to turn throughput into time
	step    float64   // the last that was counted; NaN before the first
	at      time.Time // when it was seen
}

func newClock(samples float64) *clock { return &clock{samples: samples, step: math.NaN()} }

// fewestToRestart is how far a counter has to have come until a step less than
// half of it is the beginning of another epoch, and not that of a rank that
// lags behind.
const fewestToRestart = 8

// longestStep is more seconds than any step takes: what is above is not read.
const longestStep = 1e9

// advance takes one observation and returns the seconds of the step it ends.
// ok is false if it ends none that can be timed: the counter has not moved, as
// when a bar is drawn again, there is none, or none was seen before.
func (c *clock) advance(o launch.Observation) (seconds float64, ok bool) {
	told := o.StepTime
	if !(told > 0) {
		told = c.samples / o.Throughput
	}
	if told > longestStep {
		told = 0
	}
	if math.IsNaN(o.Step) {
		return told, told > 0
	}
	steps := o.Step - c.step
	elapsed := o.At.Sub(c.at).Seconds()
	restarted := o.Step < c.step/2 && c.step >= fewestToRestart
	if steps <= 0 && !restarted {
		return 0, false
	}
	c.step, c.at = o.Step, o.At
	if told > 0 {
		return told, true
	}
	return elapsed / steps, steps > 0 && elapsed > 0
}
