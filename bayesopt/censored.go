package bayesopt

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// censoredExcess is the assumed excess, in nats, of a trial over its time limit
// before the first fit. imputations is the number of draws of unknown times, as
// many as Rubin (1987, section 4.1) finds enough; imputeSweeps is the number of
// updates of each.
const (
	censoredExcess = 0.5
	imputations    = 4
	imputeSweeps   = 3
)

// impute draws the times of trials that met their time limit from their
// posterior given that bound and the times of the others, by Gibbs sampling with
// one member of the posterior per draw (Tanner and Wong, "The calculation of
// posterior distributions by data augmentation", 1987). It returns ln times of
// all observations in each draw.
func (p *Problem) impute(post *Posterior) [][]float64 {
	rng, times := p.Rand(), make([][]float64, imputations)
	for s := range times {
		member := post.fair[rng.IntN(len(post.fair))]
		g := member.gp
		y := slices.Clone(g.y)
		level := func(k int) float64 { return g.centre + p.observations[k].priorMeans[member.form] }
		for range imputeSweeps {
			for k, o := range p.observations {
				if !o.feasible {
					miss, sd := g.factor.LeaveOneOut(y)
					y[k] = drawAbove(o.bound-level(k), y[k]-miss[k], sd[k]*math.Sqrt(g.sigma2), rng)
				}
			}
		}
		for k := range y {
			times[s] = append(times[s], y[k]+level(k))
		}
	}
	return times
}

// drawAbove draws from a normal distribution above a bound.
func drawAbove(bound, mean, sd float64, rng *rand.Rand) float64 {
	above := normalCDF((mean - bound) / sd)
	if above < 1e-12 { // there the tail is exponential
		return bound + rng.ExpFloat64()*sd*sd/(bound-mean)
	}
	return max(bound, mean-sd*distuv.UnitNormal.Quantile(above*(1-rng.Float64())))
}
