package meter

import (
	"math"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"knee/profile/launch"
)

// clock reads the step times of one rank from its observations.
type clock struct {
	samples float64             // per step, to turn throughput into time
	sole    bool                // all its lines are of one rank
	log     bool                // of a job that may have been down
	step    float64             // the last that was counted; NaN before the first
	at      time.Time           // its time stamp
	most    float64             // steps of a line so far
	rises   int                 // lines that were counted
	lagged  bool                // a line was of a step that was counted before
	epoch   float64             // the counter at the end of the epoch before
	stamped float64             // seconds that time stamps alone gave
	timed   float64             // steps in them
	ahead   *launch.Observation // the line before, if its counter was too far ahead to be counted
	down    []float64           // seconds of steps that are left out, as if the run was down
	recurs  bool                // such pauses are part of the training
}

// step is what a line says of the step that it ends.
type step struct {
	seconds float64
	sync    float64 // seconds of it spent synchronising; NaN if not known
	count   float64 // steps since the line before; NaN without a counter
	rate    bool    // seconds are computed from samples/s
	fell    bool    // the counter began anew, perhaps after an evaluation
	unit    float64 // seconds that a told time is rounded to
}

func newClock(samples float64, sole, log bool) *clock {
	return &clock{samples: samples, sole: sole, log: log, step: math.NaN()}
}

// fewestToRestart is the least counter of unknown ranks after which a step below half of it
// starts a new epoch, not a lagging rank; and the lines after which no rank lags if the
// counter only rose: one that falls continues from a checkpoint.
const fewestToRestart = 8

// farthest is how many times further than ever before the counter may move for a line to
// be counted at once: beyond, it has jumped, as where a run is resumed, unless the next line
// goes on from there.
const farthest = 10

// longestPause is how many times as long as before a step may seem by the time stamps of a
// log: beyond, the run was down and went on from its checkpoint. Pauses that happened as
// often as recurring, and took less than twice the time of the other steps, are part of the training,
// such as writing checkpoints.
const longestPause, recurring = 8, 3

// longestStep is an upper limit of a plausible step, in seconds.
const longestStep = 1e9

// advance takes an observation and returns the step it ends. ok is false if none can be
// timed: the counter has not moved, or is the first, without a time.
func (c *clock) advance(o launch.Observation) (s step, ok bool) {
	s = step{seconds: o.StepTime, sync: o.SyncTime, count: math.NaN()}
	if s.rate = !(o.StepTime > 0) && o.Throughput > 0; s.rate {
		s.seconds = c.samples / o.Throughput
	}
	s.seconds = math.Min(s.seconds, longestStep)
	if s.seconds > 0 {
		s.unit = o.Rounding * s.seconds
	}
	if math.IsNaN(o.Step) {
		return s, s.seconds > 0
	}
	steps := o.Step - c.step
	if left := c.epoch - o.Step; !c.sole && steps > c.most && left >= -c.most && left < steps {
		c.lagged = true // another rank ends that epoch
		return step{}, false
	}
	if c.rises == 2 && steps > 0 && farthest*steps < c.most {
		c.most, c.stamped, c.timed = 0, 0, 0 // the first two lines were apart by a jump
	}
	if ahead := c.ahead; c.most > 0 && steps > farthest*c.most {
		c.ahead = &o
		if ahead == nil || !(o.Step > ahead.Step) || o.Step-ahead.Step > farthest*(ahead.Step-c.step) {
			return step{}, false
		}
		c.step, c.at = ahead.Step, ahead.At
		steps = o.Step - c.step
	}
	c.ahead = nil
	elapsed := o.At.Sub(c.at).Seconds()
	lags := c.lagged || c.rises < fewestToRestart
	restarted := o.Step < c.step && (c.sole || !lags || c.step >= fewestToRestart && o.Step < c.step/2)
	together := !(s.seconds > 0) && elapsed == 0 && steps > 0 // of lines with one time stamp, the first counts
	if steps <= 0 && !restarted || together {
		c.lagged = c.lagged || steps <= 0
		return step{}, false
	}
	c.rises++
	if restarted && o.Step <= c.most { // it began anew
		c.epoch = c.step
	}
	c.step, c.at = o.Step, o.At
	s.count, s.fell = math.Max(steps, 1), steps <= 0
	if steps > c.most {
		c.most = steps
	}
	if s.seconds > 0 {
		return s, true
	}
	s.seconds, s.unit = elapsed/steps, 0
	if !(steps > 0 && elapsed > 0) { // a clock that was set back tells nothing
		return s, false
	}
	usual := c.stamped / c.timed
	c.stamped, c.timed = c.stamped+elapsed, c.timed+steps
	if !c.log || c.recurs || !(s.seconds > longestPause*usual) || c.rises <= fewestToRestart {
		return s, true
	}
	c.down = append(c.down, elapsed)
	if c.recurs = len(c.down) >= recurring && 3*floats.Sum(c.down) < 2*c.stamped; c.recurs {
		s.count *= float64(len(c.down))
		s.seconds = stat.Mean(c.down, nil) / steps
	}
	return s, c.recurs
}
