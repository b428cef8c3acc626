package convergence

import (
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// deltaRule defines convergence (Optimus, EuroSys'18, section 3.1): the loss,
// divided by the largest so far, fell by less than delta per epoch for some
// epochs in a row.
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

// StepsToConvergence returns the steps, from step 0, after which the loss first
// fell by less than delta, a share of the largest loss, per epoch for three
// epochs in a row. Noise can meet the rule by chance, so it is applied to one
// simulated future with noise per draw of the posterior. The answer is the
// median with the 90 % interval over the futures, or the epoch itself if the
// record already meets the rule.
//
// It fails with a *data.InputError if delta is not above 0, and with a
// *[NeverReachedError], whose target is delta, if at least half of the futures
// never meet the rule.
func (c *Curve) StepsToConvergence(delta float64) (data.Estimate, error) {
	if !(delta > 0) {
		return data.Estimate{}, data.Invalid("delta", delta, "a decrease above 0")
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
		smooth := isotone(c.Recorded)
		return data.Estimate{}, &NeverReachedError{Target: delta, Floor: c.fromLoss(p.level(math.Inf(-1), smooth[len(smooth)-1].Loss)),
			Chance: float64(len(steps)) / drawCount}
	}
	for range unmet { // later than the simulation
		steps = append(steps, far)
	}
	slices.Sort(steps)
	return data.Estimate{Mean: quantile.Median(steps), Lo: quantile.Sorted(steps, .05), Hi: quantile.Sorted(steps, .95)}, nil
}

// epochLosses returns the mean loss of each recorded epoch and the length of an
// epoch in steps, at least one recorded stretch.
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
