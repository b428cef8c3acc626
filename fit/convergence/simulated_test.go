package convergence

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
	"knee/internal/quantile"
)

// simulatedRun is a run with a known curve.
type simulatedRun struct {
	kind   string // "epochs" or "steps"
	end    int    // looks of the whole run
	course func(look float64) float64
	floor  float64
	cut    float64 // look of the learning-rate cut, 0 without one
	plan   float64 // looks planned, 0 if unknown
	points []data.CurvePoint
}

// simulate draws a run: a power law, an exponential, a stretched exponential or
// Optimus's form, from 1 + floor down to floor, recorded once per epoch with
// little noise or at every step with much. With a cut, losses after a random look
// are multiplied by a ratio, as after a cut of the learning rate; with a schedule, a part of
// the loss is in proportion to a learning rate that falls by a cosine to 0 at the planned end.
func simulate(kind, with string, rng *rand.Rand) simulatedRun {
	cut, schedule := with == "cut", with == "schedule"
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	r := simulatedRun{kind: kind, end: int(between(30, 120)), floor: between(.05, .6)}
	noise := math.Exp(between(math.Log(.003), math.Log(.03)))
	if kind == "steps" {
		r.end, noise = int(between(2000, 8000)), math.Exp(between(math.Log(.02), math.Log(.15)))
	}
	n := float64(r.end)
	var g func(u float64) float64
	switch rng.IntN(4) {
	case 0:
		alpha, x0 := between(.3, 1.5), between(.01, .1)
		g = func(u float64) float64 { return math.Pow(1+u/x0, -alpha) }
	case 1:
		tau := between(.1, .4)
		g = func(u float64) float64 { return math.Exp(-u / tau) }
	case 2:
		tau, delta := between(.05, .3), between(.5, 1.2)
		g = func(u float64) float64 { return math.Exp(-math.Pow(u/tau, delta)) }
	default:
		b := between(3, 40)
		g = func(u float64) float64 { return 1 / (1 + b*u) }
	}
	ratio := 1.
	if cut {
		r.cut, ratio = math.Floor(between(.3, .7)*n), between(.4, .8)
	}
	var lift float64
	if schedule {
		r.plan, lift = n, between(.05, .4)
	}
	r.course = func(look float64) float64 {
		f := r.floor + g(look/n)
		if cut && look > r.cut {
			f *= ratio
		}
		if schedule {
			f += lift * (1 + math.Cos(math.Pi*min(look/n, 1))) / 2
		}
		return f
	}
	for i := range r.end {
		p := curvePoint(float64(i+1), r.course(float64(i+1))+noise*rng.NormFloat64())
		p.Step, p.Progress = p.Progress, math.NaN()
		if kind == "epochs" {
			p.Epoch, p.Loss, p.Metric = p.Step, math.NaN(), p.Loss
		}
		r.points = append(r.points, p)
	}
	return r
}

// spiked adds three to ten spikes of .3 to 3 times the way down, which decay within
// .2 to 2 % of the run, to a record.
func (r simulatedRun) spiked(rng *rand.Rand) simulatedRun {
	for range 3 + rng.IntN(8) {
		at, height := float64(r.end)*(.05+.95*rng.Float64()), .3+2.7*rng.Float64()
		decay := float64(r.end) * (.002 + .018*rng.Float64())
		for i := range r.points {
			if late := float64(i+1) - at; late >= 0 {
				r.points[i].Loss += height * math.Exp(-late/decay)
				r.points[i].Metric += height * math.Exp(-late/decay)
			}
		}
	}
	return r
}

// reachedAt returns the look at which the curve, or with raw the record,
// reaches the target.
func (r simulatedRun) reachedAt(target float64, raw bool) float64 {
	for i, p := range r.points {
		v := r.course(float64(i + 1))
		if raw {
			v = p.Loss
			if r.kind == "epochs" {
				v = p.Metric
			}
		}
		if v <= target {
			return float64(i + 1)
		}
	}
	return math.Inf(1)
}

// BenchmarkSimulated asks when simulated runs reach targets that they reach
// later, and how likely they are to reach targets below their floor, and counts
// warnings of learning-rate cuts. The rivals are Optimus's curve
// and the model without schedules.
func BenchmarkSimulated(b *testing.B) {
	for _, family := range []string{"optimus", unscheduled, Auto} {
		for _, kind := range []string{"epochs", "steps"} {
			for _, with := range []string{"noise", "cut", "spikes", "schedule"} {
				for _, percent := range []int{10, 20, 40, 100} {
					b.Run(fmt.Sprintf("by=%s/kind=%s/with=%s/seen=%d", family, kind, with, percent), func(b *testing.B) {
						var t simulatedTally
						for range b.N {
							t = simulatedTally{}
							for seed := range uint64(40) {
								r := simulate(kind, with, newTestRand(seed))
								if with == "spikes" {
									r = r.spiked(newTestRand(seed + 1000))
								}
								t.ask(b, r, percent, family)
							}
						}
						t.report(b)
					})
				}
			}
		}
	}
}

// unscheduled is [Auto] that takes no learning rate to fall to the planned end.
const unscheduled = "unscheduled"

// simulatedTally is the accuracy on simulated runs.
type simulatedTally struct {
	outcome
	unreachable, chance, high float64 // questions, sum of chances, chances over .3
}

// ask puts the questions about one run, recorded to some percent.
func (o *simulatedTally) ask(tb testing.TB, r simulatedRun, percent int, family string) {
	n := max(r.end*percent/100, 4)
	batch := 0.
	if r.kind == "steps" { // an epoch is a step of one sample
		batch = 1
	}
	s := Settings{Family: family, PlannedEpochs: r.plan, Dataset: batch}
	if family == unscheduled {
		s.Family = Auto
	}
	c, err := Fit(r.points[:n], batch, s)
	if err != nil {
		tb.Fatal(err)
	}
	if family == unscheduled {
		known := c.beliefs()
		known.Schedule = 0
		c.known = &known
	}
	for _, part := range []float64{.25, .5, .9, 1} { // of the rest
		at := math.Round(float64(n) + part*float64(r.end-n))
		target := r.course(at)
		truth := r.reachedAt(target, r.kind == "epochs")
		if percent == 100 || r.cut > 0 && at <= r.cut || truth <= float64(n) {
			continue
		}
		a, err := c.Target(target)
		o.add(r.kind, a.Steps, err, truth)
	}
	for _, under := range []float64{.05, .1, .2} { // of the way down
		target := r.course(1e9) - under
		if r.cut > float64(n) || r.reachedAt(target, true) <= float64(r.end) {
			continue // an unrecorded cut is unknowable, and noise may reach the target
		}
		a, err := c.Target(target)
		var never *NeverReachedError
		if errors.As(err, &never) {
			a.Chance = never.Chance
		}
		o.unreachable++
		o.chance += a.Chance
		if a.Chance > .3 {
			o.high++
		}
	}
}

func (o *simulatedTally) report(b *testing.B) {
	if len(o.errs) > 0 {
		o.outcome.report(b)
	}
	if o.unreachable > 0 {
		b.ReportMetric(100*o.chance/o.unreachable, "chance-unreachable%")
		b.ReportMetric(100*o.high/o.unreachable, "over-30%")
	}
	b.ReportMetric(0, "ns/op")
}

// A run recorded to its end is not predicted to go below its floor, with no cut
// assumed; a real cut is found.
func TestFloorsAndCuts(t *testing.T) {
	for _, kind := range []string{"epochs", "steps"} {
		var whole, cut simulatedTally
		for seed := range uint64(12) {
			whole.ask(t, simulate(kind, "noise", newTestRand(seed)), 100, Auto)
			cut.ask(t, simulate(kind, "cut", newTestRand(seed)), 100, Auto)
		}
		if whole.chance > .5*whole.unreachable {
			t.Errorf("%s: targets under the floor are reached with probability %.0f %% on average", kind, 100*whole.chance/whole.unreachable)
		}
	}
}

// A run whose learning rate falls to the planned end is not said to get to targets as early
// or late as the level before suggests.
func TestSchedule(t *testing.T) {
	var o simulatedTally
	for seed := range uint64(16) {
		o.ask(t, simulate("epochs", "schedule", newTestRand(seed)), 40, Auto)
	}
	if e := quantile.Median(o.errs); e > 15 {
		t.Errorf("median error %.0f %%, want at most 15 %%", e)
	}
}
