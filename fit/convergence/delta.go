package convergence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// DeltaRule says when a run counts as converged (Optimus, EuroSys'18, section
// 3.1): the loss, divided by the largest so far, fell by less than Delta per
// epoch for Epochs epochs in a row.
type DeltaRule struct {
	Delta  float64 // of the largest loss, above 0, for example .01
	Epochs int     // 0 means 3
	Seed   int64   // of the simulated futures
}

const (
	deltaFutures = 400
	// deltaAhead is how far futures are followed, in multiples of the epochs
	// recorded or planned, whichever is more.
	deltaAhead = 20
	// deltaMost keeps records with very short epochs affordable.
	deltaMost = 20000
)

// StepsToConvergence returns the steps, from step 0, at which the rule is
// first met. Noise meets it by luck, so it cannot be read off a smooth curve:
// futures are drawn from the curves that agree with the record, noise is
// added as it is around them, and the exact rule is applied to each. The
// answer is the median with the 90 % interval over them, or the epoch itself
// if the record already meets the rule.
//
// It fails for a rule that makes no sense, and with a *[NeverReachedError]
// whose target is Delta if most futures never meet the rule.
func (c *Curve) StepsToConvergence(rule DeltaRule) (data.Estimate, error) {
	if !(rule.Delta > 0) || rule.Epochs < 0 {
		return data.Estimate{}, &data.InputError{Source: data.Source{Column: "delta"},
			Found: fmt.Sprintf("%g for %d epochs", rule.Delta, rule.Epochs), Want: "a decrease above 0, for some epochs"}
	}
	if rule.Epochs == 0 {
		rule.Epochs = 3
	}
	recorded, epoch := c.epochLosses()
	run := 0
	for i := 1; i < len(recorded); i++ {
		x := epoch * float64(i+1)
		if run = rule.next(run, recorded[i-1], recorded[i]); run == rule.Epochs {
			return data.Estimate{Mean: x, Lo: x, Hi: x}, nil
		}
	}
	p := c.posterior(c.lowest(Smooth))
	steps := c.simulateDelta(p, rule, run, recorded[len(recorded)-1], epoch)
	met := 0
	for _, x := range steps {
		if finite(x) {
			met++
		}
	}
	if 2*met < len(steps) || met == 0 {
		return data.Estimate{}, &NeverReachedError{Target: rule.Delta, Floor: c.fromLoss(p.level(math.Inf(-1), c.lowest(Smooth))),
			Chance: float64(met) / deltaFutures}
	}
	slices.Sort(steps)
	lo, hi := quantile.Sorted(steps, .05), quantile.Sorted(steps, .95)
	e := data.Estimate{Mean: quantile.Median(steps), Lo: lo, Hi: hi}
	if !finite(e.Hi) { // what is not met within the simulation is met after it
		e.Hi = math.Max(c.LastX, c.Planned) * deltaAhead
	}
	return e, nil
}

// next returns the epochs in a row that met the rule after one more.
func (r DeltaRule) next(run int, before, after float64) int {
	if before-after < r.Delta {
		return run + 1
	}
	return 0
}

// epochLosses returns the mean loss of each epoch of the record and the
// length of an epoch in steps. An epoch is at least one recorded stretch.
func (c *Curve) epochLosses() ([]float64, float64) {
	epoch := math.Max(c.EpochSteps, c.LastX/float64(len(c.Recorded)))
	var losses []float64
	var sum, n float64
	for i, p := range c.Recorded {
		sum, n = sum+p.Loss, n+1
		end := i == len(c.Recorded)-1
		if end || math.Ceil(c.Recorded[i+1].X/epoch-1e-6) > math.Ceil(p.X/epoch-1e-6) {
			losses = append(losses, sum/n)
			sum, n = 0, 0
		}
	}
	return losses, epoch
}

// simulateDelta draws futures and returns when each meets the rule, +Inf if
// it does not within the simulation.
func (c *Curve) simulateDelta(p *posterior, rule DeltaRule, run int, last, epoch float64) []float64 {
	var sum []float64
	total := 0.0
	for _, cell := range p.cells {
		total += cell.weight
		sum = append(sum, total)
	}
	if total == 0 {
		return nil
	}
	ahead := min(deltaMost, int(deltaAhead*math.Max(c.LastX, c.Planned)/epoch)+rule.Epochs)
	var steps []float64
	for k := range deltaFutures { // stratified over the cells, so that few of them do
		rng := rand.New(rand.NewPCG(uint64(rule.Seed), uint64(k)))
		u := total * (float64(k) + rng.Float64()) / deltaFutures
		i := 0
		for i < len(sum)-1 && sum[i] < u {
			i++
		}
		cell, before, in, at := p.cells[i], last, run, math.Inf(1)
		for j := 1; j <= ahead; j++ {
			x := c.LastX + float64(j)*epoch
			l := p.at(cell, x) + cell.fresh*rng.NormFloat64()
			if in = rule.next(in, before, l); in >= rule.Epochs {
				at = x
				break
			}
			before = l
		}
		steps = append(steps, at)
	}
	return steps
}
