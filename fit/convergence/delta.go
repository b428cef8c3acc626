package convergence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// deltaRule defines convergence (Optimus, EuroSys'18, section 3.1): the loss, divided by the
// largest so far, fell by less than delta per epoch for some epochs in a row.
type deltaRule struct {
	delta  float64
	before float64 // loss of the last epoch
	slow   int     // epochs in a row with a smaller decrease
}

const (
	// deltaEpochs is the required number of slow epochs in a row.
	deltaEpochs = 3
	// deltaAhead bounds the simulation, in multiples of the epochs recorded or
	// planned, whichever is more; deltaMost bounds it in epochs.
	deltaAhead = 20
	deltaMost  = 4096
)

// met adds an epoch and reports whether the rule is met.
func (r *deltaRule) met(loss float64) bool {
	if r.slow++; r.before-loss >= r.delta {
		r.slow = 0
	}
	r.before = loss
	return r.slow >= deltaEpochs
}

// StepsToConvergence returns the steps, from step 0, after which the loss first fell by
// less than delta, a share of the largest loss, per epoch for three epochs in a row. As
// noise can meet the rule by chance, it is applied to a noisy future of each draw of the
// posterior: median and 90 % interval, or the epoch at which the record meets the rule.
//
// It fails with a *data.InputError if delta is not above 0, and if half of the futures
// never meet it.
func (c *Curve) StepsToConvergence(delta float64) (data.Estimate, error) {
	if !(delta > 0) {
		return data.Estimate{}, data.Invalid("delta", delta, "a decrease above 0")
	}
	recorded, epoch := c.epochLosses()
	rule := deltaRule{delta: delta, before: math.Inf(1)}
	for _, p := range recorded {
		if rule.met(p.Loss) {
			return data.Estimate{Mean: p.X, Lo: p.X, Hi: p.X}, nil
		}
	}
	p := c.posterior()
	far := deltaAhead * math.Max(c.LastX, c.Planned)
	rng := rand.New(rand.NewPCG(0, 0))
	var steps []float64 // of the futures that meet the rule
	for _, d := range p.draws {
		r := rule
		for j := 1.; j <= math.Min(deltaMost, far/epoch+deltaEpochs); j++ {
			if x := c.LastX + j*epoch; r.met(p.at(d, x) + d.fresh*rng.NormFloat64()) {
				steps = append(steps, x)
				break
			}
		}
	}
	unmet := len(p.draws) - len(steps)
	if unmet >= len(steps) {
		return data.Estimate{}, fmt.Errorf("the training curve probably never slows to a decrease below %g of the largest loss per epoch (probability %.0f %%)",
			delta, 100*float64(len(steps))/drawCount)
	}
	for range unmet { // later than the simulation
		steps = append(steps, far)
	}
	slices.Sort(steps)
	return data.Estimate{Mean: quantile.Median(steps), Lo: quantile.Sorted(steps, .05), Hi: quantile.Sorted(steps, .95)}, nil
}

// epochLosses returns the end and the mean loss of each recorded epoch and the
// length of an epoch in steps, at least one recorded stretch.
func (c *Curve) epochLosses() (epochs []Point, length float64) {
	length = math.Max(c.EpochSteps, c.LastX/float64(len(c.Recorded)))
	var sum, n float64
	for i, p := range c.Recorded {
		sum, n = sum+p.Loss, n+1
		end := func(i int) float64 { return math.Ceil(c.Recorded[i].X/length-1e-6) * length }
		if i == len(c.Recorded)-1 || end(i+1) > end(i) {
			epochs = append(epochs, Point{end(i), sum / n})
			sum, n = 0, 0
		}
	}
	return epochs, length
}
