package bayesopt

import "math"

// censoredExcess is the assumed excess, in nats, of a trial over its time limit
// before the first fit.
const censoredExcess = 0.5

// excess returns by how much the time of each observation exceeds its bound, 0
// for a measured one.
func (p *Problem) excess() []float64 {
	out := make([]float64, len(p.observations))
	for k, o := range p.observations {
		if !o.feasible {
			out[k] = o.logTime - o.bound
		}
	}
	return out
}

// impute sets the times of trials that met their time limit to their
// expectation given that bound and all other observations: the mean of a
// truncated normal distribution (one step of the expectation-maximisation of
// Schmee and Hahn, "A simple method for regression analysis with censored
// data", 1979).
func (p *Problem) impute(post *Posterior) {
	expected := make([]float64, len(p.observations))
	for m, g := range post.members {
		miss, sd := g.factor.LeaveOneOut(g.y)
		for k, o := range p.observations {
			mean, sd := o.logTime-miss[k], sd[k]*math.Sqrt(g.sigma2)
			u := (o.bound - mean) / sd
			expected[k] += post.weights[m] * (mean + sd*math.Exp(logDensity(u)-logNormalCDF(-u)))
		}
	}
	for k := range p.observations {
		if o := &p.observations[k]; !o.feasible {
			o.logTime = max(o.bound, expected[k])
		}
	}
}
