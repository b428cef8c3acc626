package fit

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"knee/data"
)

// runNoise is the sd of ln step time between runs of one configuration that
// is assumed before any were repeated; it is part of a kernel's own sd.
const runNoise = .03

// runFreedom is the strength of that assumption, in pseudo-observations: the
// degrees of freedom of a scaled inverse chi-squared prior.
const runFreedom = 3

// spread is how far measurements scatter beyond the form and the smooth
// residual, relative to what the kernel assumes.
type spread struct {
	Scale   float64   `json:"scale"`              // for the estimate; 1 is what the kernel assumes
	Timers  float64   `json:"timers,omitempty"`   // the same for compute times; 0 means as Scale
	Nodes   []float64 `json:"nodes,omitempty"`    // grid of scales
	Weights []float64 `json:"weights,omitempty"`  // their posterior
	RunVar  float64   `json:"run_var,omitempty"`  // variance of ln step time within repeated configurations
	RunFree float64   `json:"run_free,omitempty"` // degrees of freedom behind RunVar
}

// timers returns the scale of compute times.
func (s spread) timers() float64 {
	if s.Timers > 0 {
		return s.Timers
	}
	return s.Scale
}

// run returns the variance between runs of one configuration at a scale:
// what the kernel assumes, moved towards what repeated runs showed.
func (s spread) run(scale float64) float64 {
	assumed := scale * scale * runNoise * runNoise
	return (runFreedom*assumed + s.RunFree*s.RunVar) / (runFreedom + s.RunFree)
}

// row returns the variance that belongs to one row alone under a kernel
// whose own sd is own: the configuration's part and, averaged over its runs,
// the noise between runs.
func (s spread) row(own, scale, runs float64) float64 {
	return scale*scale*math.Max(own*own-runNoise*runNoise, 0) + s.run(scale)/runs
}

// fresh returns the sd of a new run in a configuration not measured before.
func (s spread) fresh(own, extra, scale float64) float64 {
	return math.Sqrt(s.row(own, scale, 1) + scale*scale*extra*extra)
}

// repeats pools the scatter within repeated configurations.
func repeats(ms []data.Measurement) (s spread) {
	type sums struct{ n, sum, square float64 }
	at := map[string]*sums{}
	var keys []string // in order, so that the sum has one order of rounding
	for _, m := range ms {
		key := m.Key()
		if at[key] == nil {
			at[key] = &sums{}
			keys = append(keys, key)
		}
		a, ln := at[key], math.Log(m.StepTime)
		a.n++
		d := ln - a.sum // Welford: sum is the running mean
		a.sum += d / a.n
		a.square += d * (ln - a.sum)
	}
	s.Scale = 1
	for _, k := range keys {
		if a := at[k]; a.n > 1 {
			s.RunFree += a.n - 1
			s.RunVar += a.square
		}
	}
	if s.RunFree > 0 {
		s.RunVar /= s.RunFree
	}
	return s
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }

// quantiles returns n scales, equally likely under the posterior, ascending.
func (s spread) quantiles(n int) []float64 {
	q := make([]float64, n)
	for d := range q {
		q[d] = s.quantile((float64(d) + .5) / float64(n))
	}
	return q
}

// quantile returns the scale that the posterior is below with probability p.
// Between the nodes the distribution function is linear in ln scale.
func (s spread) quantile(p float64) float64 {
	if len(s.Nodes) == 0 {
		return s.Scale
	}
	cum, i := 0.0, 0
	for i < len(s.Nodes)-1 && cum+s.Weights[i] < p {
		cum += s.Weights[i]
		i++
	}
	within := (p-cum)/math.Max(s.Weights[i], 1e-12) - .5
	return s.Nodes[i] * math.Exp(gridStep*math.Max(-.5, math.Min(.5, within)))
}
