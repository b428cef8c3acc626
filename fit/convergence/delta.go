package convergence

import (
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// deltaRule says when a run counts as converged (Optimus, EuroSys'18, section
// 3.1): the loss, divided by the largest so far, fell by less than delta per
// epoch for some epochs in a row.
type deltaRule struct {
	delta  float64
	before float64 // loss of the last epoch
	slow   int     // epochs in a row that fell by less
}

const (
	// deltaEpochs is how many slow epochs in a row are enough.
	deltaEpochs = 3
	// deltaAhead is how far futures are followed, in multiples of the epochs
	// recorded or planned, whichever is more, and deltaMost in epochs.
	deltaAhead = 20
	deltaMost  = 4096
)

// met adds an epoch and says whether the rule is met.
func (r *deltaRule) met(loss float64) bool {
	if r.slow++; r.before-loss >= r.delta {
		r.slow = 0
	}
	r.before = loss
	return r.slow >= deltaEpochs
}

// StepsToConvergence returns the steps, from step 0, after which the loss first
// fell by less than delta, a part of the largest loss, per epoch for three epochs
// in a row. Noise meets that by luck, so it cannot be read off a smooth curve:
// the rule is applied to a future of each curve that agrees with the record, with
// the noise around it. The answer is the median with the 90 % interval over them,
// or the epoch itself if the record already meets the rule.
//
// It fails for a delta that is not above 0, and with a *[NeverReachedError]
// whose target is delta if most futures never meet the rule.
func (c *Curve) StepsToConvergence(delta float64) (data.Estimate, error) {
	if !(delta > 0) {
		return data.Estimate{}, refuse("delta", delta, "a decrease above 0")
	}
	recorded, epoch := c.epochLosses()
	rule := deltaRule{delta: delta, before: math.Inf(1)}
	for i, l := range recorded {
		if x := epoch * float64(i+1); rule.met(l) {
			return data.Estimate{Mean: x, Lo: x, Hi: x}, nil
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
		return data.Estimate{}, &NeverReachedError{Target: delta, Floor: c.fromLoss(p.level(math.Inf(-1), c.lowest(Smooth))),
			Chance: float64(len(steps)) / drawCount}
	}
	for range unmet { // what is not met within the simulation is met after it
		steps = append(steps, far)
	}
	slices.Sort(steps)
	return data.Estimate{Mean: quantile.Median(steps), Lo: quantile.Sorted(steps, .05), Hi: quantile.Sorted(steps, .95)}, nil
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
