package fit

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// runNoise is the sd of ln step time between runs of one configuration that
// is assumed before any were repeated; it is part of a kernel's own sd.
const runNoise = .03

// Strengths of the assumptions about noise, in pseudo-observations: the
// degrees of freedom of the scaled inverse chi-squared priors of both
// variances. Of 2, 3, 4 and 8 for the scale, the stronger keep intervals too
// tight on loud machines and the weakest smooths clean measurements away.
const (
	scaleFreedom = 3
	runFreedom   = 3
)

// The grid of ln scale: its distance, its ends in steps, and the drop in log
// density beyond which it is not followed.
const (
	gridStep    = .4
	lowestStep  = -3
	highestStep = 6
	highestDrop = 10
)

// spread is how far measurements scatter beyond the form and the smooth
// residual, relative to what the kernel assumes.
type spread struct {
	Scale   float64   `json:"scale"`              // for the estimate; 1 is what the kernel assumes
	Nodes   []float64 `json:"nodes,omitempty"`    // grid of scales
	Weights []float64 `json:"weights,omitempty"`  // their posterior
	RunVar  float64   `json:"run_var,omitempty"`  // variance of ln step time within repeated configurations
	RunFree float64   `json:"run_free,omitempty"` // degrees of freedom behind RunVar
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

// infer updates the scale by how well every measurement is predicted from
// the others (the leave-one-out predictive density of Rasmussen and Williams,
// "Gaussian Processes for Machine Learning", 2006, section 5.4.2), with the
// form linearised around theta and its parameters integrated out. Densities
// are Student's t as in predictions, so that one outlier does not decide.
// Prior: scale² is scaled inverse chi-squared around 1.
//
// In-sample residuals alone would not do: with few measurements the form
// follows them, and the smaller they are the less they say. Nor would the
// marginal likelihood, in which being normal lets outliers decide.
func (s spread) infer(f form, l0 *layout, theta []float64) spread {
	s.Nodes, s.Weights = nil, nil
	top := math.Inf(-1)
	density := map[int]float64{} // of ln scale, by steps from 0
	// Outwards from what is assumed, as far as the density counts.
	for _, way := range []int{1, -1} {
		for i := min(way, 0); i >= lowestStep && i <= highestStep; i += way {
			scale := math.Exp(gridStep * float64(i))
			l, ok := s.evidence(f, l0, theta, scale)
			if !ok {
				break
			}
			l -= scaleFreedom*gridStep*float64(i) + scaleFreedom/(2*scale*scale) // the prior
			density[i], top = l, math.Max(top, l)
			if l < top-highestDrop {
				break
			}
		}
	}
	var total float64
	for i := lowestStep; i <= highestStep; i++ {
		if l, ok := density[i]; ok {
			w := math.Exp(l - top)
			s.Nodes, s.Weights, total = append(s.Nodes, math.Exp(gridStep*float64(i))), append(s.Weights, w), total+w
		}
	}
	for i := range s.Weights {
		s.Weights[i] /= total
	}
	// The estimate moves only as far as the measurements insist, and never
	// below 1: a form that trusts single rows more bends towards them. A few
	// rows that were never repeated insist on nothing; what the form cannot
	// follow may be real. The intervals have the whole posterior.
	s.Scale = 1
	if len(l0.ms) >= minScreen || s.RunFree > 0 {
		s.Scale = math.Max(1, s.quantiles(100)[0])
	}
	return s
}

// evidence returns the log predictive density of the measurements, each
// given the others, at a scale, up to a constant.
func (s spread) evidence(f form, l0 *layout, theta []float64, scale float64) (float64, bool) {
	s.Scale = scale
	o, err := l0.observe(s, 0)
	if err != nil {
		return 0, false
	}
	mean, sd, ok := o.leaveOneOut(f, theta)
	if !ok {
		return 0, false
	}
	t := distuv.StudentsT{Sigma: 1, Nu: noiseFreedom}
	var l float64
	for i := range mean {
		l += t.LogProb((o.step.ln[i]-mean[i])/sd[i]) - math.Log(sd[i])
	}
	if s.RunFree > 0 {
		// The marginal density of the scatter within configurations.
		assumed := runFreedom * scale * scale * runNoise * runNoise
		l += .5 * (runFreedom*math.Log(assumed) - (runFreedom+s.RunFree)*math.Log(assumed+s.RunFree*s.RunVar))
	}
	return l, true
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }

// quantiles returns n scales, equally likely under the posterior, ascending.
func (s spread) quantiles(n int) []float64 {
	q := make([]float64, n)
	if len(s.Nodes) == 0 {
		for i := range q {
			q[i] = s.Scale
		}
		return q
	}
	// Between the nodes the distribution function is linear in ln scale.
	cum, i := 0.0, 0
	for d := range q {
		p := (float64(d) + .5) / float64(n)
		for i < len(s.Nodes)-1 && cum+s.Weights[i] < p {
			cum += s.Weights[i]
			i++
		}
		within := (p-cum)/math.Max(s.Weights[i], 1e-12) - .5
		q[d] = s.Nodes[i] * math.Exp(gridStep*math.Max(-.5, math.Min(.5, within)))
	}
	return q
}
