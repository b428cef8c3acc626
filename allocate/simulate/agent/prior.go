package agent

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"knee/internal/leastsq"
)

// terms is the number of parameters of [Speed].
const terms = 7

// Prior is a normal prior over the logarithms of the parameters of a
// [Speed], in the order of its fields: times relative to the mean compute
// time observed, BetaC times the largest local batch likewise, and the logit
// of (Gamma − 1)/9. Times are observed up to a relative error of Noise, which
// stands for what the form cannot follow more than for timers.
type Prior struct {
	Mean, SD [terms]float64
	Noise    float64
}

// DefaultPrior holds for most jobs: half of the compute time at the initial batch does
// not depend on the batch, and the largest batch that fits into memory saturates the
// device; synchronising takes a fraction of a step within a node, about a step between
// nodes, and grows by percents per worker. A standard deviation is a factor of e^1.5.
//
// A BetaC that is too small costs nothing, as a larger batch is tried without a
// restart; an AlphaN that is too small costs one. AlphaN = 1 and BetaC = e^1.5 over the
// largest batch were chosen among powers of √e, seeing the mean JCT of
// workloads 1, 2 and 6 published with Pollux; the others are those of the
// family pollux of package fit.
func DefaultPrior() Prior {
	return Prior{
		Mean:  [terms]float64{-0.7, 1.5, 0, -4, -1.5, -4, -1.5},
		SD:    [terms]float64{1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5},
		Noise: 0.05,
	}
}

// Fit finds the most likely parameters under the prior; last is the fit to all
// but the newest observation, nil for the first.
func (p Prior) Fit(l Limits, obs []Observation, last *Speed) *Speed {
	var compute float64
	for _, o := range obs {
		compute += math.Log(math.Max(o.Step-o.Sync, least)) / float64(len(obs))
	}
	f := &mapFit{Prior: p, obs: obs, unit: [terms]float64{compute, compute - math.Log(l.LocalMax), compute, compute, compute, compute, 0}}
	x := p.Mean
	if last != nil {
		x = f.coordinates(last)
	}
	problem := leastsq.Problem{Params: terms, Rows: terms + 2*len(obs), Residuals: f.residuals, Jacobian: f.jacobian}
	best := leastsq.Minimize(problem, x[:], leastsq.Settings{MaxIterations: 12, Lambda: 1e-3, MaxStep: 3, Tolerance: 1e-3})
	return f.speed([terms]float64(best.X))
}

// mapFit is one fit; unit is the logarithm of what each parameter is
// relative to.
type mapFit struct {
	Prior
	obs  []Observation
	unit [terms]float64
}

func (f *mapFit) speed(x [terms]float64) *Speed {
	at := func(i int) float64 { return math.Exp(x[i] + f.unit[i]) }
	return &Speed{AlphaC: at(0), BetaC: at(1), AlphaN: at(2), BetaN: at(3), AlphaR: at(4), BetaR: at(5), Gamma: 1 + 9/(1+math.Exp(-x[6]))}
}

func (f *mapFit) coordinates(s *Speed) [terms]float64 {
	x := [terms]float64{s.AlphaC, s.BetaC, s.AlphaN, s.BetaN, s.AlphaR, s.BetaR, (s.Gamma - 1) / (10 - s.Gamma)}
	for i := range x {
		x[i] = math.Log(math.Max(x[i], 1e-12)) - f.unit[i]
	}
	return x
}

// residuals are the parameters in standard deviations of the prior, then the
// compute and step time of every observation in those of the noise.
func (f *mapFit) residuals(x, r []float64) {
	for i := range terms {
		r[i] = (x[i] - f.Mean[i]) / f.SD[i]
	}
	s := f.speed([terms]float64(x))
	for n, o := range f.obs {
		step, compute := s.Times(o.Nodes, o.Workers, o.Local)
		r[terms+2*n] = math.Log(compute/math.Max(o.Step-o.Sync, least)) / f.Noise
		r[terms+2*n+1] = math.Log(step/o.Step) / f.Noise
	}
}

func (f *mapFit) jacobian(x []float64, j *mat.Dense) {
	j.Zero()
	for i := range terms {
		j.Set(i, i, 1/f.SD[i])
	}
	s := f.speed([terms]float64(x))
	for n, o := range f.obs {
		var dc, dt [terms]float64
		step, compute := s.Times(o.Nodes, o.Workers, o.Local)
		s.slopes(o, step, compute, &dc, &dt)
		for i := range terms {
			j.Set(terms+2*n, i, dc[i]/f.Noise)
			j.Set(terms+2*n+1, i, dt[i]/f.Noise)
		}
	}
}

// slopes fills in the derivatives of the logarithms of compute and step time.
func (s *Speed) slopes(o Observation, step, compute float64, dc, dt *[terms]float64) {
	dc[0] = s.AlphaC / compute
	dc[1] = 1 - dc[0]
	sync := s.sync(o.Nodes, o.Workers)
	w := 0.0
	if o.Workers > 1 {
		w = math.Pow(sync/step, s.Gamma) // the share of sync in the norm
	}
	dt[0], dt[1] = (1-w)*dc[0], (1-w)*dc[1]
	if w == 0 {
		return
	}
	beyond := math.Max(float64(o.Workers)-2, least)
	if o.Nodes > 1 {
		dt[2], dt[3] = w*s.AlphaN/sync, w*s.BetaN*beyond/sync
	} else {
		dt[4], dt[5] = w*s.AlphaR/sync, w*s.BetaR*beyond/sync
	}
	share := (s.Gamma - 1) / 9
	dt[6] = (w*math.Log(sync) + (1-w)*math.Log(compute) - math.Log(step)) / s.Gamma * 9 * share * (1 - share)
}
