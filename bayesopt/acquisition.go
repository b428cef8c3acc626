package bayesopt

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/internal/normal"
)

// Predictive is the posterior of one candidate's response: a mixture of normal
// distributions, one per set of hyperparameters, whose weights sum to one.
type Predictive struct {
	Mean, SD, Weight []float64
	// Freedom is the degrees of freedom of the t distributions that the members
	// are with σ² integrated out; 0: normal, as expected improvements take them.
	Freedom float64
}

// Average returns ln of the mixture's mean of e^score, so that improvements and
// probabilities are averaged, not their logarithms.
func (p Predictive) Average(score func(mean, sd, best float64) float64, best float64) float64 {
	scores := make([]float64, len(p.Weight))
	for i, w := range p.Weight {
		scores[i] = score(p.Mean[i], p.SD[i], best) + math.Log(w)
	}
	return floats.LogSumExp(scores)
}

// Moments returns the mean and standard deviation of the mixture.
func (p Predictive) Moments() (mean, sd float64) {
	mean, variance := stat.PopMeanVariance(p.Mean, p.Weight)
	for i, w := range p.Weight {
		variance += w * p.SD[i] * p.SD[i]
	}
	return mean, math.Sqrt(variance)
}

// Below returns P(response < y).
func (p Predictive) Below(y float64) (sum float64) {
	for i, w := range p.Weight {
		if sd := max(p.SD[i], 1e-12); p.Freedom > 0 {
			sum += w * distuv.StudentsT{Mu: p.Mean[i], Sigma: sd, Nu: p.Freedom}.CDF(y)
		} else {
			sum += w * distuv.UnitNormal.CDF((y-p.Mean[i])/sd)
		}
	}
	return min(sum, 1) // rounding
}

// stopped returns the mean of e^min(response, longest): of a trial stopped at a limit.
func (p Predictive) stopped(longest float64) (mean float64) {
	for i, w := range p.Weight {
		m, sd := p.Mean[i], p.SD[i]
		ended, cut := m+sd*sd/2+logBelow(m+sd*sd, sd, longest), longest+logBelow(longest, sd, m)
		mean += w * (math.Exp(ended) + math.Exp(cut))
	}
	return mean
}

// Quantile returns the q-quantile of the response, 0 < q < 1, by bisection.
func (p Predictive) Quantile(q float64) float64 {
	m, s := p.Moments()
	lo, hi := m-10*s-1e-12, m+10*s+1e-12
	for range 60 {
		mid := 0.5 * (lo + hi)
		if p.Below(mid) < q {
			lo = mid
		} else {
			hi = mid
		}
	}
	return 0.5 * (lo + hi)
}

// LogEI returns ln E[max(best − y, 0)] for y ~ N(mean, sd²): the log expected improvement
// of a quantity to minimise (Jones, Schonlau and Welch 1998, eq. 15; in logarithms Ament et
// al. 2023, eq. 9). It is finite and increasing in best even where the improvement
// underflows. With sd = 0 it is ln(best − mean), −Inf if that is not positive.
func LogEI(mean, sd, best float64) float64 {
	if sd <= 0 {
		return math.Log(max(best-mean, 0))
	}
	return normal.LogImprovement((best-mean)/sd) + math.Log(sd)
}

// logEIWithin is [LogEI] of improvements with y ≤ longest: ln E[max(best − y, 0); y ≤ longest].
func logEIWithin(mean, sd, best, longest float64) float64 {
	if best <= longest {
		return LogEI(mean, sd, best)
	}
	whole := math.Log(best-longest) + logBelow(mean, sd, longest) // least gain of every y ≤ longest
	return floats.LogSumExp([]float64{whole, LogEI(mean, sd, longest)})
}

// logBelow returns ln P(y < longest) for y ~ N(mean, sd²).
func logBelow(mean, sd, longest float64) float64 {
	return normal.LogCDF((longest - mean) / max(sd, 1e-12))
}

// accuracyTargets bounds the sample of candidates whose variance is to be reduced.
const accuracyTargets = 128

// probable is the least probability of fitting at which a candidate counts as usable.
const probable = 0.5

// varianceReduction returns, for each open candidate, ln of the expected reduction of the
// variance of ln step time by a trial of it, averaged over the usable candidates:
//
//	gain(i) = mean_j cov(i, j)² / (var(i) + noise)
//
// This is active learning after Cohn ("Neural network exploration using optimal experiment
// design", 1996), Ernest's experiment design (NSDI'16, section 4) made sequential. The cost
// of a trial is ignored: divided by cost, eight trials of the recorded tables cost half as
// much and the model fitted to them is a sixth worse.
func (p *Problem) varianceReduction(post *Posterior, open []int) []float64 {
	var targets []int
	for i := 0; i < len(p.fits); i += 1 + len(p.fits)/accuracyTargets {
		if p.fits[i] >= probable {
			targets = append(targets, i)
		}
	}
	gain := make([]float64, len(open))
	for _, m := range post.members {
		at := make([]whitened, len(targets))
		for k, j := range targets {
			_, _, at[k] = m.gp.predict(p.Points[j], nil)
		}
		for k, i := range open {
			_, _, x := m.gp.predict(p.Points[i], nil)
			gain[k] += m.share * m.gp.reduction(x, at)
		}
	}
	for k := range gain {
		gain[k] = math.Log(gain[k])
	}
	return gain
}

// reduction returns the mean reduction of variance at the targets by one observation at x.
func (g *GP) reduction(x whitened, targets []whitened) (sum float64) {
	for _, t := range targets {
		c := g.covariance(x, t)
		sum += c * c
	}
	return sum / (max(g.covariance(x, x), 0) + g.NoiseVariance()) / float64(len(targets))
}
