package bayesopt

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/gp"
)

// MemoryModel knows from physics how much memory a configuration needs, such as
// the memory form of package fit.
type MemoryModel interface {
	// Fits returns the function that gives the probability that a
	// configuration fits into memory, given the finished trials, those that
	// ran out included; ok is false for a configuration it cannot speak of.
	Fits(measured []data.Measurement) func(data.Config) (p float64, ok bool)
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
// headroom in the middle of the space, and of what no formula says of it.
var (
	otherSlope = Slope{0, 0.15}
	middleSD   = 1.5
)

// headroom is the logarithm (base 2) of memory available over memory needed,
// as far as it is known before any trial: linear in the features, which are in
// doublings where they are logarithms, so that a weight is how many doublings
// of memory one doubling of the knob takes or gives. Where a memory model
// speaks, its probability takes the place of the line.
type headroom struct {
	width           []float64 // of a feature, in its own unit
	prior, variance []float64 // of the weights, the constant first
	physical        func(data.Config) (float64, bool)
	between, rest   float64 // variance over the candidates of the line, and of its weights
}

// site is a configuration as the classifier sees it.
type site struct {
	x     []float64 // point of the unit cube
	row   []float64 // 1 and the features about the middle, by the deviations of their weights; nil where the memory model speaks
	mean  float64   // of the line,
	score float64   // or in standard deviations of all that is not known there
}

func newHeadroom(columns []column, cands [][]float64) *headroom {
	h := &headroom{prior: []float64{0}, variance: []float64{middleSD * middleSD}}
	known := MemorySlopes()
	for _, c := range columns {
		s, ok := known[c.name]
		if !ok {
			s = otherSlope
		}
		h.width, h.prior, h.variance = append(h.width, c.width), append(h.prior, s.Mean), append(h.variance, s.SD*s.SD)
	}
	var means []float64
	for k := 0; k < len(cands); k += 1 + len(cands)/1000 { // the average of some is that of all
		at := h.line(cands[k])
		means = append(means, at.mean)
		h.rest += floats.Dot(at.row, at.row)
	}
	h.rest /= float64(len(means))
	h.prior[0], h.between = stat.PopMeanVariance(means, nil)
	h.prior[0] *= -1
	return h
}

func (h *headroom) line(x []float64) site {
	s := site{x: x, row: make([]float64, len(h.prior)), mean: h.prior[0]}
	s.row[0] = math.Sqrt(h.variance[0])
	for j, v := range x {
		v = (v - 0.5) * h.width[j]
		s.row[j+1] = v * math.Sqrt(h.variance[j+1])
		s.mean += v * h.prior[j+1]
	}
	return s
}

func (h *headroom) site(x []float64, c data.Config) site {
	if h.physical != nil {
		if chance, ok := h.physical(c); ok {
			return site{x: x, score: distuv.UnitNormal.Quantile(min(max(chance, certain), 1-certain))}
		}
	}
	return h.line(x)
}

// certain is how little chance a memory model may leave.
const certain = 1e-9

// classifier says what fits by a Gaussian process of the headroom,
//
//	g(x) = w₀ + Σ_j w_j·x_j + r(x),  P(fits) = Φ(g/softness),
//
// with the kernel of the surrogate for r, which neighbours share: what fails
// need not lie beyond a line (Rasmussen and Williams 2006, sections 2.7 and 3.4,
// Laplace's approximation).
type classifier struct {
	*headroom
	usual  float64 // score of the usual share of candidates that fit
	hyper  Hyper
	rough  float64 // standard deviation of r
	sites  []site
	inputs [][]float64 // of the sites, scaled by the kernel
	scale  scale
	slope  []float64 // of the log likelihood at the mode
	root   []float64 // square roots of its curvature
	factor *gp.Factor
	logged float64 // log marginal likelihood
}

// mean is the prior mean of the headroom.
func (c *classifier) mean(s site) float64 {
	if s.row == nil {
		return s.score * math.Hypot(softness, c.rough)
	}
	return s.mean + c.usual*math.Sqrt(softness*softness+c.rough*c.rough+c.rest+c.between)
}

// covariance is that of the headroom at two sites, whose scaled inputs are given.
func (c *classifier) covariance(a, b site, u, v []float64) float64 {
	k := 0.0
	if a.row != nil && b.row != nil {
		k = floats.Dot(a.row, b.row)
	}
	if c.rough > 0 {
		k += c.rough * c.rough * c.hyper.prior(distance(u, v))
	}
	return k
}

func (c *classifier) input(x []float64) []float64 {
	u := make([]float64, c.hyper.width())
	c.scale.into(u, x)
	return u
}

// learn finds the mode of the headrooms of the trials by Newton's method
// (algorithm 3.1).
func (c *classifier) learn(fits []bool) error {
	n := len(c.sites)
	if n == 0 {
		return nil
	}
	k, mean := mat.NewSymDense(n, nil), make([]float64, n)
	for i, s := range c.sites {
		c.inputs, mean[i] = append(c.inputs, c.input(s.x)), c.mean(s)
		for j := range i + 1 {
			k.SetSym(i, j, c.covariance(s, c.sites[j], c.inputs[i], c.inputs[j]))
		}
	}
	c.slope, c.root = make([]float64, n), make([]float64, n)
	b, g, a := mat.NewSymDense(n, nil), slices.Clone(mean), make([]float64, n)
	for last := math.Inf(-1); ; {
		likelihood := 0.0
		for i, v := range g {
			sign := -1.0
			if fits[i] {
				sign = 1
			}
			z := sign * v / softness
			log := logNormalCDF(z)
			ratio := math.Exp(logDensity(z) - log)
			likelihood += log
			c.slope[i], c.root[i] = sign*ratio/softness, math.Sqrt(ratio*(ratio+z))/softness
			for j := range i + 1 {
				b.SetSym(i, j, c.root[i]*k.At(i, j)*c.root[j])
			}
			b.SetSym(i, i, 1+b.At(i, i))
		}
		var err error
		if c.factor, err = gp.Factorize(b); err != nil {
			return err
		}
		for i, v := range g {
			likelihood -= 0.5 * a[i] * (v - mean[i])
		}
		c.logged = likelihood - 0.5*c.factor.LogDet()
		if likelihood < last+1e-6 {
			return nil
		}
		last = likelihood
		c.step(k, mean, g, a)
	}
}

// step moves g to the mode of the quadratic approximation, and a to K⁻¹(g − mean).
func (c *classifier) step(k *mat.SymDense, mean, g, a []float64) {
	n := len(g)
	for i := range g {
		a[i] = c.root[i]*c.root[i]*(g[i]-mean[i]) + c.slope[i]
	}
	at, pulled := mat.NewVecDense(n, a), mat.NewVecDense(n, nil)
	pulled.MulVec(k, at)
	pulled.MulElemVec(pulled, mat.NewVecDense(n, c.root))
	c.factor.Solve(blas64.General{Rows: n, Cols: 1, Stride: 1, Data: pulled.RawVector().Data})
	pulled.MulElemVec(pulled, mat.NewVecDense(n, c.root))
	at.SubVec(at, pulled)
	pulled.MulVec(k, at)
	for i := range g {
		g[i] = mean[i] + pulled.AtVec(i)
	}
}

// fits returns the probability that a site fits.
func (c *classifier) fits(s site) float64 {
	u, v := c.input(s.x), make([]float64, len(c.sites))
	mean, variance := c.mean(s), softness*softness+c.covariance(s, s, u, u)
	for i, t := range c.sites {
		v[i] = c.covariance(s, t, u, c.inputs[i])
	}
	mean += floats.Dot(v, c.slope)
	floats.Mul(v, c.root)
	if len(v) > 0 {
		c.factor.Whiten(v)
	}
	return normalCDF(mean / math.Sqrt(variance-floats.Dot(v, v)))
}

// classifiers averages over what is not known of r, as the surrogate does over
// its kernel: draws of its kernel and of its size, by their marginal
// likelihood. Before the first failure there is no r.
func (p *Problem) classifiers(h *headroom, sites []site, fits []bool) (members []*classifier, weights []float64) {
	rng := p.Rand()
	draws := averageDraws
	if !slices.Contains(fits, false) {
		draws = 1
	}
	for k := range draws {
		c := &classifier{headroom: h, usual: distuv.UnitNormal.Quantile(p.opts.Constants.UsualFits), sites: sites}
		if k > 0 {
			c.hyper = Prior{Jumps: true, LengthSD: p.opts.Constants.LengthSD}.draw(len(h.width), rng)
			c.rough = math.Abs(middleSD * rng.NormFloat64())
		} else {
			c.hyper = Prior{}.centre(len(h.width))
		}
		c.scale = c.hyper.scale()
		if c.learn(fits) == nil {
			members = append(members, c)
		}
	}
	slices.SortStableFunc(members, func(a, b *classifier) int { return cmp.Compare(b.logged, a.logged) })
	members = members[:min(len(members), max(screenMembers, min(16, screenAbove/len(p.cands))))]
	for _, c := range members {
		weights = append(weights, math.Exp(c.logged-members[0].logged))
	}
	floats.Scale(1/floats.Sum(weights), weights)
	return members, weights
}

// feasibility returns for every candidate the probability that it fits: by
// the memory model where there is one that speaks of it, else by what is known
// of its features, and by the trials. One that met its time limit did fit.
func (p *Problem) feasibility(enc *encoder) []float64 {
	columns := make([]column, len(enc.used))
	for j, k := range enc.used {
		columns[j] = enc.columns[k]
	}
	h := newHeadroom(columns, p.points)
	if p.opts.Memory != nil {
		h.physical = p.opts.Memory.Fits(p.measured)
	}
	var sites []site
	var fit []bool
	for _, m := range p.measured {
		if x, ok := enc.encode(m.Config); ok && m.Status != data.Aborted && m.Status != data.Queued {
			sites, fit = append(sites, h.site(x, m.Config)), append(fit, m.Status == data.OK || m.Status == data.Timeout)
		}
	}
	members, weights := p.classifiers(h, sites, fit)
	out := make([]float64, len(p.cands))
	inParallel(len(out), func() func(int) {
		return func(i int) {
			at := h.site(p.points[i], p.cands[i])
			for k, c := range members {
				out[i] += weights[k] * c.fits(at)
			}
		}
	})
	return out
}
