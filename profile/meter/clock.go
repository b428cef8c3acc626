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
	at      time.Time // its time stamp
	told    told
}

func newClock(samples float64) *clock { return &clock{samples: samples, step: math.NaN()} }

// fewestToRestart is the least counter value after which a step below half of
// it starts a new epoch, and is not the line of a lagging rank.
const fewestToRestart = 8

// longestStep is an upper limit of a plausible step, in seconds.
const longestStep = 1e9

// advance takes one observation and returns the seconds of the step it ends. ok
// is false if no step can be timed: the counter has not moved (a progress bar
// redrawn), there is neither counter nor time, or it is the first counter
// without a time.
func (c *clock) advance(o launch.Observation) (seconds float64, ok bool) {
	claimed := o.StepTime
	rate := !(claimed > 0) && o.Throughput > 0
	if rate {
		claimed = c.samples / o.Throughput
	}
	claimed = math.Min(claimed, longestStep)
	if math.IsNaN(o.Step) {
		if claimed > 0 {
			c.told.add(o.At, claimed, math.NaN(), rate)
		}
		return claimed, claimed > 0
	}
	steps := o.Step - c.step
	elapsed := o.At.Sub(c.at).Seconds()
	restarted := o.Step < c.step/2 && c.step >= fewestToRestart
	if steps <= 0 && !restarted {
		return 0, false
	}
	c.step, c.at = o.Step, o.At
	if claimed > 0 {
		c.told.add(o.At, claimed, math.Max(steps, 1), rate)
		return claimed, true
	}
	return elapsed / steps, steps > 0 && elapsed > 0
}
