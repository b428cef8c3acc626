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

// simulatedRun is a run whose course is known.
type simulatedRun struct {
	kind   string // "epochs" or "steps"
	end    int    // looks of the whole run
	course func(look float64) float64
	floor  float64
	cut    float64 // look of the learning-rate cut, 0 for none
	points []data.CurvePoint
}

// simulate draws a run: a power law, an exponential, a stretched exponential
// or Optimus's form, from 1 + floor down to floor, recorded once per epoch with
// little noise or at every step with much. With cut, everything is multiplied
// by some ratio from a moment on, as after a cut of the learning rate.
func simulate(kind string, cut bool, rng *rand.Rand) simulatedRun {
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
	r.course = func(look float64) float64 {
		f := r.floor + g(look/n)
		if cut && look > r.cut {
			f *= ratio
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

// reachedAt returns the look at which the course, or with raw the record,
// gets to the target.
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

// BenchmarkSimulated asks of runs with known course when they reach targets.
func BenchmarkSimulated(b *testing.B) {
	for _, kind := range []string{"epochs", "steps"} {
		for _, cut := range []bool{false, true} {
			for _, planned := range []bool{false, true} {
				for _, percent := range []int{10, 20, 40, 100} {
					b.Run(fmt.Sprintf("kind=%s/cut=%v/planned=%v/seen=%d", kind, cut, planned, percent), func(b *testing.B) {
						simScore(b, kind, cut, planned, percent)
					})
				}
			}
		}
	}
}

func simScore(b *testing.B, kind string, cut, planned bool, percent int) {
	const runs = 40
	var o outcome
	var chance, asked, below, warned, said float64
	for seed := range uint64(runs) {
		rng := newTestRand(seed)
		r := simulate(kind, cut, rng)
		n := max(r.end*percent/100, 3)
		s := Settings{}
		if planned && kind == "epochs" {
			s.PlannedEpochs = float64(r.end)
		}
		c, err := Fit(r.points[:n], 0, s)
		if err != nil {
			b.Fatal(err)
		}
		if percent < 100 {
			for _, u := range []float64{.25, .5, .9} {
				at := float64(n) + u*float64(r.end-n)
				if cut && at <= r.cut {
					continue
				}
				target := r.course(math.Round(at))
				truth := r.reachedAt(target, kind == "epochs")
				if truth <= float64(n) {
					continue
				}
				e, err := stepsTo(c, target)
				o.add(kind, e, err, truth)
			}
		}
		for _, u := range []float64{.05, .1, .2} {
			floor := r.course(1e9) // after the cut
			target := floor - u
			if cut && float64(n) <= r.cut {
				continue
			}
			a, err := c.Target(target, "")
			var never *NeverReachedError
			p := a.Chance
			if errors.As(err, &never) {
				p = never.Chance
			}
			if r.reachedAt(target, true) <= float64(n) {
				continue
			}
			chance += p
			asked++
			if p > .3 {
				below++
			}
		}
		said++
		if len(c.Cuts()) > 0 {
			warned++
		}
	}
	if len(o.errs) > 0 {
		o.report(b)
		_ = quantile.Median
	}
	b.ReportMetric(100*chance/asked, "chance-unreachable%")
	b.ReportMetric(100*below/asked, "over30%")
	b.ReportMetric(100*warned/said, "warned%")
	b.ReportMetric(0, "ns/op")
}
