package bayesopt

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// MemoryModel knows from physics how much memory a configuration needs, such as
// the memory form of package fit.
type MemoryModel interface {
	// Fits returns the function that gives the probability that a
	// configuration fits into memory, given the finished trials, those that
	// ran out included; ok is false for a configuration it cannot speak of.
	Fits(measured []data.Measurement) func(data.Config) (p float64, ok bool)
}

// headroom is the classifier of what fits: the logarithm (base 2) of memory
// available over memory needed, linear in the features,
//
//	g(x) = w₀ + Σ_j w_j·x_j,  P(fits) = Φ(g/σ),
//
// a probit regression (Rasmussen and Williams 2006, section 3.4, Laplace's
// approximation in the space of weights). Features are in doublings where they
// are logarithms, so that a weight is how many doublings of memory one
// doubling of the knob takes or gives.
type headroom struct {
	width []float64 // of a feature, in its own unit
	mean  []float64 // of the weights, the constant first
	cov   *mat.SymDense
	bias  float64 // see learnBias
}

// Slope is what is known beforehand about the weight of a feature: doublings of
// headroom per doubling of the knob, or per level of an ordered one.
type Slope struct{ Mean, SD float64 }

// MemorySlopes returns the priors of the weights by column. Those of a training
// layout are what the published memory formulas say on average over
// transformers (Korthikanti et al., MLSys 2023; Rajbhandari et al., SC'20;
// TestMemorySlopes computes them), with twice the spread over models, as real
// frameworks differ from the formulas. That more memory helps is all that is
// said of the others.
func MemorySlopes() map[string]Slope {
	return map[string]Slope{
		"tp":              {0.69, 0.1},
		"pp":              {0.40, 0.2},
		"local_batch":     {-0.55, 0.24},
		"recompute":       {1.22, 0.88},
		"sharding":        {0.67, 0.32},
		"cp":              {0.4, 0.4},
		"offload":         {0.3, 0.3},
		"gpu_memory":      {1, 0.3},
		"memory_per_core": {0.3, 0.4},
		"total_memory":    {0.3, 0.4},
	}
}

// Prior of the weight of any other column, and standard deviation of the
// headroom in the middle of the space.
var (
	otherSlope = Slope{0, 0.15}
	middleSD   = 1.5
)

// newHeadroom fits the classifier to trials at points of the unit cube.
func newHeadroom(usual float64, columns []column, cands, points [][]float64, fits []bool) *headroom {
	d := len(columns) + 1
	h := &headroom{width: make([]float64, d-1), mean: make([]float64, d)}
	prior, variance := make([]float64, d), make([]float64, d)
	variance[0] = middleSD * middleSD
	known := MemorySlopes()
	for j, c := range columns {
		h.width[j] = c.width
		s, ok := known[c.name]
		if !ok {
			s = otherSlope
		}
		prior[j+1], variance[j+1] = s.Mean, s.SD*s.SD
	}
	h.centre(usual, prior, variance, cands)
	rows := make([][]float64, len(points))
	for i, x := range points {
		rows[i] = h.row(x)
	}
	copy(h.mean, prior)
	precision := mat.NewSymDense(d, nil)
	for range 30 {
		step := mat.NewVecDense(d, nil)
		precision.Zero()
		for j := range d {
			precision.SetSym(j, j, 1/variance[j])
			step.SetVec(j, (prior[j]-h.mean[j])/variance[j])
		}
		for i, row := range rows {
			slope, curve := probit(floats.Dot(row, h.mean)/softness, fits[i])
			step.AddScaledVec(step, slope/softness, mat.NewVecDense(d, row))
			precision.SymRankOne(precision, curve/(softness*softness), mat.NewVecDense(d, row))
		}
		var chol mat.Cholesky
		if !chol.Factorize(precision) {
			break
		}
		_ = chol.SolveVecTo(step, step) // well conditioned by the prior
		for j := range h.mean {
			h.mean[j] += step.AtVec(j)
		}
		if mat.Norm(step, 2) < 1e-6 {
			break
		}
	}
	h.cov = mat.NewSymDense(d, nil)
	var chol mat.Cholesky
	if chol.Factorize(precision) {
		_ = chol.InverseTo(h.cov)
	}
	return h
}

// probit returns slope and negative curvature of ln P(fits), or of ln P(does not),
// in the score of which the probability is Φ.
func probit(score float64, fits bool) (slope, curve float64) {
	sign := 1.0
	if !fits {
		sign = -1
	}
	ratio := math.Exp(logDensity(score) - logNormalCDF(sign*score))
	return sign * ratio, ratio * (ratio + sign*score)
}

// centre sets the prior mean of the constant so that the usual share of the
// candidates is expected to fit, as if their headrooms were normal.
func (h *headroom) centre(usual float64, prior, variance []float64, cands [][]float64) {
	var means []float64
	spread := softness * softness
	prior[0] = 0
	for _, x := range cands {
		row := h.row(x)
		means = append(means, floats.Dot(row, prior))
		for j, r := range row {
			spread += r * r * variance[j] / float64(len(cands))
		}
	}
	mean, between := stat.PopMeanVariance(means, nil)
	prior[0] = distuv.UnitNormal.Quantile(usual)*math.Sqrt(spread+between) - mean
}

// row returns 1 and the features about the middle of the space.
func (h *headroom) row(x []float64) []float64 {
	r := make([]float64, len(x)+1)
	r[0] = 1
	for j, v := range x {
		r[j+1] = (v - 0.5) * h.width[j]
	}
	return r
}

// fits returns the probability that a point fits.
func (h *headroom) fits(x []float64) float64 { return math.Exp(logNormalCDF(h.score(x) + h.bias)) }

// score is the headroom at a point in standard deviations of what is not known
// of it.
func (h *headroom) score(x []float64) float64 {
	r := h.row(x)
	variance := softness * softness
	for i, row := 0, h.cov.RawSymmetric(); i < len(r); i++ { // the upper triangle is stored
		variance += r[i] * (r[i]*row.Data[i*row.Stride+i] + 2*floats.Dot(row.Data[i*row.Stride+i+1:i*row.Stride+len(r)], r[i+1:]))
	}
	return floats.Dot(r, h.mean) / math.Sqrt(variance)
}

// learnBias sets by how much scores have been too high or too low: the mode of
// its posterior, from what was said of every trial by those before it, under a
// standard normal prior. What fits is not always linear in the features, and
// then a classifier can be wrong about one place again and again.
func (h *headroom) learnBias(scores []float64, fits []bool) {
	for range 20 {
		slope, curve := -h.bias, 1.0
		for i, s := range scores {
			more, bend := probit(s+h.bias, fits[i])
			slope, curve = slope+more, curve+bend
		}
		h.bias += slope / curve
	}
}

// feasibility returns the probability that each candidate fits. It comes from
// the memory model if that covers the candidate, else from the classifier. A
// trial that met its time limit did fit.
func (p *Problem) feasibility(enc *encoder) []float64 {
	var points [][]float64
	var fit []bool
	for _, m := range p.measured {
		if m.Status == data.Aborted || m.Status == data.Queued {
			continue
		}
		if x, ok := enc.encode(m.Config); ok {
			points, fit = append(points, x), append(fit, m.Status == data.OK || m.Status == data.Timeout)
		}
	}
	columns := make([]column, len(enc.used))
	for j, k := range enc.used {
		columns[j] = enc.columns[k]
	}
	h := newHeadroom(p.opts.Constants.UsualFits, columns, p.points, points, fit)
	if slices.Contains(fit, false) {
		scores, some := make([]float64, len(points)), p.points
		if step := 1 + len(some)/1000; step > 1 { // the average of some is that of all
			some = nil
			for i := 0; i < len(p.points); i += step {
				some = append(some, p.points[i])
			}
		}
		for i, x := range points {
			scores[i] = newHeadroom(p.opts.Constants.UsualFits, columns, some, points[:i], fit[:i]).score(x)
		}
		h.learnBias(scores, fit)
	}
	var physical func(data.Config) (float64, bool)
	if p.opts.Memory != nil {
		physical = p.opts.Memory.Fits(p.measured)
	}
	out := make([]float64, len(p.cands))
	inParallel(len(out), func() func(int) {
		return func(i int) {
			out[i] = h.fits(p.points[i])
			if physical != nil {
				if chance, ok := physical(p.cands[i]); ok {
					out[i] = chance
				}
			}
		}
	})
	return out
}
