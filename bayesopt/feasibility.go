package bayesopt

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/list"
	"knee/internal/normal"
	"knee/internal/parallel"
)

// MemoryModel fits a physical model of memory, such as that of package fit, to
// finished trials, failed ones included. It returns the probability that a
// configuration fits in memory, false if the model does not apply to it.
type MemoryModel func(measured []data.Measurement) func(data.Config) (p float64, ok bool)

// headroom is the classifier of feasibility: log2 of memory available over
// memory needed is linear in the features,
//
//	g(x) = w₀ + Σ_j w_j·x_j,  P(fits) = Φ(g/σ),
//
// a probit regression (Rasmussen and Williams 2006, section 3.4, Laplace's approximation in
// the space of weights). Logarithmic features are in doublings, so that a weight is the
// change of headroom, in doublings, per doubling of the knob.
type headroom struct {
	width []float64 // range of each feature, in its own unit
	usual []float64 // root mean square of each weight, beforehand
	mean  []float64 // posterior mean of the weights, the constant first
	cov   *mat.SymDense
	bias  float64 // see learnBias
}

// Slope is the prior of a weight: doublings of headroom per doubling of the
// knob, or per level of an ordered one.
type Slope struct{ Mean, SD float64 }

// MemorySlopes returns the priors of the weights by column. Those of a training layout are
// averages of published memory formulas over transformers (Korthikanti et al., MLSys 2023;
// Rajbhandari et al., SC'20; computed by TestMemorySlopes), with twice the standard
// deviation over models, as real frameworks differ from the formulas.
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

// Prior of the weights of other columns, and standard deviation of the headroom mid-space.
var (
	otherSlope = Slope{0, 0.15}
	middleSD   = 1.5
)

// headroom fits the classifier to trials at points of the unit cube, each weighted by
// the probability that it is not forbidden.
func (p *Problem) headroom(points [][]float64, fits []bool) *headroom {
	d := len(p.enc.columns) + 1
	h := &headroom{width: make([]float64, d-1), usual: make([]float64, d), mean: make([]float64, d)}
	prior, variance := make([]float64, d), make([]float64, d)
	variance[0] = middleSD * middleSD
	for j, c := range p.enc.columns {
		h.width[j] = c.width
		s, ok := MemorySlopes()[c.name]
		if !ok {
			s = otherSlope
		}
		prior[j+1], variance[j+1], h.usual[j+1] = s.Mean, s.SD*s.SD, math.Hypot(s.Mean, s.SD)
	}
	h.centre(p.Options.Constants.UsualFits, prior, variance, p.Points)
	rows, weights := list.Map(points, h.row), list.Map(points, p.allowed)
	copy(h.mean, prior)
	h.cov = mat.NewSymDense(d, nil)
	for j, v := range variance {
		h.cov.SetSym(j, j, v)
	}
	precision, chol := mat.NewSymDense(d, nil), mat.Cholesky{}
	for range 30 {
		step := mat.NewVecDense(d, nil)
		precision.Zero()
		for j := range d {
			precision.SetSym(j, j, 1/variance[j])
			step.SetVec(j, (prior[j]-h.mean[j])/variance[j])
		}
		for i, row := range rows {
			slope, curve := normal.Probit(floats.Dot(row, h.mean)/softness, fits[i])
			step.AddScaledVec(step, weights[i]*slope/softness, mat.NewVecDense(d, row))
			precision.SymRankOne(precision, weights[i]*curve/(softness*softness), mat.NewVecDense(d, row))
		}
		if !chol.Factorize(precision) {
			break
		}
		_ = chol.SolveVecTo(step, step) // the prior makes it well conditioned
		_ = chol.InverseTo(h.cov)
		floats.Add(h.mean, step.RawVector().Data)
		if mat.Norm(step, 2) < 1e-6 {
			break
		}
	}
	return h
}

// centre sets the prior mean of the constant so that the usual share of candidates fits.
func (h *headroom) centre(usual float64, prior, variance []float64, cands [][]float64) {
	var means, spreads []float64
	for i := 0; i < len(cands); i += 1 + len(cands)/1000 { // a sample suffices for the average
		row, spread := h.row(cands[i]), softness*softness
		for j, r := range row {
			spread += r * r * variance[j]
		}
		means, spreads = append(means, floats.Dot(row, prior)), append(spreads, spread)
	}
	mean, between := stat.PopMeanVariance(means, nil)
	prior[0] = distuv.UnitNormal.Quantile(usual)*math.Sqrt(stat.Mean(spreads, nil)+between) - mean
}

// row returns 1 and the features relative to the centre of the space.
func (h *headroom) row(x []float64) []float64 {
	r := make([]float64, len(x)+1)
	r[0] = 1
	for j, v := range x {
		r[j+1] = (v - 0.5) * h.width[j]
	}
	return r
}

// score is the mean headroom at a point over its standard deviation.
func (h *headroom) score(x []float64) float64 {
	r := h.row(x)
	return floats.Dot(r, h.mean) / h.sd(r)
}

// sd is the standard deviation of the headroom at a row.
func (h *headroom) sd(r []float64) float64 {
	row := mat.NewVecDense(len(r), r)
	return math.Sqrt(softness*softness + mat.Inner(row, h.cov, row))
}

// fitting returns a function that draws which candidates of a list work: each with its
// probability, together where the same weights or forbidden values tell.
func (p *Problem) fitting(of []int, rng *rand.Rand) func() []bool {
	off := make([]float64, len(p.headrooms.mean))
	// the inverse of a matrix that is nearly singular may not be positive definite
	weights, varied := distmv.NewNormal(slices.Clone(off), p.headrooms.cov, rng)
	var open []int // in of: what may or may not fit
	for k, i := range of {
		if p.memory[i] < 1 {
			open = append(open, k)
		}
	}
	rows := list.Map(open, func(k int) []float64 { return p.headrooms.row(p.Points[of[k]]) })
	sds, fits := list.Map(rows, p.headrooms.sd), make([]bool, len(of))
	return func() []bool {
		if varied {
			weights.Rand(off)
		}
		u, s := rng.Float64(), 0
		for ; s < len(p.forbids)-1 && u > p.forbids[s].share; s++ {
			u -= p.forbids[s].share
		}
		for k, i := range of {
			fits[k] = !p.forbids[s].covers(p.Points[i])
		}
		rest := p.headrooms.unexplained(rows, rng)
		for n, k := range open {
			score := (floats.Dot(rows[n], off) + softness*rest[n]) / sds[n]
			fits[k] = fits[k] && distuv.UnitNormal.CDF(score) < p.memory[of[k]]
		}
		return fits
	}
}

// unexplained draws the headroom that the features do not explain, in standard deviations.
// Memory is smooth in the features: the draw is a Gaussian process whose length is a doubling
// of memory by the usual weights, from random waves (Rahimi and Recht 2007).
func (h *headroom) unexplained(rows [][]float64, rng *rand.Rand) []float64 {
	const waves = 16 // their sum is nearly normal
	out, wave := make([]float64, len(rows)), make([]float64, len(h.usual))
	for range waves {
		for j, w := range h.usual {
			wave[j] = w * rng.NormFloat64()
		}
		phase := 2 * math.Pi * rng.Float64()
		for k, row := range rows {
			out[k] += math.Sqrt(2./waves) * math.Cos(floats.Dot(wave, row)+phase)
		}
	}
	return out
}

// learnBias sets bias, a correction of all scores, to the mode of its posterior under a
// standard normal prior, from the predictions of every trial by those before it: where
// feasibility is not linear in the features, the classifier may repeat an error.
func (h *headroom) learnBias(scores []float64, fits []bool, weights []float64) {
	for range 20 {
		slope, curve := -h.bias, 1.0
		for i, s := range scores {
			more, bend := normal.Probit(s+h.bias, fits[i])
			slope, curve = slope+weights[i]*more, curve+weights[i]*bend
		}
		h.bias += slope / curve
	}
}

// attempts are the finished trials in terms of feasibility.
type attempts struct {
	points  [][]float64 // of trials that tell of memory
	fit     []bool      // which of these fit
	worked  [][]float64 // points of those
	crashed []failure
	largest map[string]float64 // batch that worked, by [Problem.class]
	least   map[string]float64 // batch that did not fit, by the same
}

// attempts sorts the finished trials. One that met its time limit with some steps did fit.
// A crash tells nothing of memory, but of whole jobs, whose records do not say why.
func (p *Problem) attempts() (a attempts) {
	a.largest, a.least = map[string]float64{}, map[string]float64{}
	for _, m := range p.History.Measured {
		x, ok := p.enc.encode(m.Config)
		works := m.Status == data.OK || m.Status == data.Timeout && positive(m.StepTime)
		crashed := !works && (m.Status == data.Failed || m.Status == data.Timeout) && !p.Options.JobTime
		switch {
		case !ok || m.Status == data.Aborted || m.Status == data.Queued:
			continue
		case crashed:
			a.crashed = append(a.crashed, failure{x: x, crashed: true})
			continue
		case works:
			a.worked = append(a.worked, x)
			for _, workers := range []int{1, m.Workers} { // one worker needs no more
				key := p.class(m.Config, workers)
				a.largest[key] = max(a.largest[key], m.LocalBatch)
			}
		case m.Status == data.OOM:
			for _, workers := range []int{m.Workers, 2} { // several need no less
				key := p.class(m.Config, workers)
				a.least[key] = min(cmp.Or(a.least[key], m.LocalBatch), m.LocalBatch)
			}
		}
		a.points, a.fit = append(a.points, x), append(a.fit, works)
	}
	return a
}

// feasibility returns the probability that each candidate works: that it fits, by the
// memory model if that covers it, else by the classifier, and is not forbidden. It fits if
// one of its class worked with as large a batch, and not if one with as small did not fit.
func (p *Problem) feasibility() []float64 {
	a := p.attempts()
	p.forbids = []forbidden{{share: 1}}
	failed, scores, short := a.crashed, make([]float64, len(a.points)), slices.Contains(a.fit, false)
	for i := 0; i < len(a.points) && short; i++ {
		if scores[i] = p.headroom(a.points[:i], a.fit[:i]).score(a.points[i]); !a.fit[i] {
			failed = append(failed, failure{x: a.points[i], usual: normal.LogCDF(-scores[i])})
		}
	}
	if len(failed) > 0 && !p.Options.JobTime {
		p.forbids = p.forbid(a.worked, failed)
	}
	if p.headrooms = p.headroom(a.points, a.fit); short {
		p.headrooms.learnBias(scores, a.fit, list.Map(a.points, p.allowed))
	}
	physical := func(data.Config) (float64, bool) { return 0, false }
	if p.Options.Memory != nil {
		physical = p.Options.Memory(p.History.Measured)
	}
	p.memory = make([]float64, len(p.cands))
	out := make([]float64, len(p.cands))
	parallel.Do(len(out), parallelBatch, func(i int) {
		chance, ok := physical(p.cands[i])
		if !ok {
			chance = distuv.UnitNormal.CDF(p.headrooms.score(p.Points[i]) + p.headrooms.bias)
		}
		key, batch := p.class(p.cands[i], p.cands[i].Workers), p.cands[i].LocalBatch
		if most, ok := a.largest[key]; ok && batch <= most {
			chance = 1
		} else if least, ok := a.least[key]; ok && batch >= least {
			chance = min(chance, averageCutoff)
		}
		p.memory[i], out[i] = chance, chance*p.works(p.Points[i])
	})
	return out
}

// class returns a key of the memory that a configuration needs on a GPU on some workers, its
// batch apart. In plain data parallelism their number does not matter, but that several need
// buffers for gradients. Workers on processors share memory, and whole jobs their data.
func (p *Problem) class(c data.Config, workers int) string {
	known := c.LocalBatch > 0
	if c.LocalBatch = 0; known && c.Plain() && c.GPUType != "cpu" && !p.Options.JobTime {
		c.Workers, c.Nodes, c.Placement, c.AccumSteps = min(workers, 2), 0, nil, 0
	}
	return c.Key()
}
