package agent

import "math"

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

// DefaultPrior is what holds for most jobs: half of the compute time at the
// batch a job starts with is there whatever the batch, while the largest that
// fits into memory saturates the device; synchronising takes a fraction of a
// step within a node, about a step between nodes, and grows by percents per
// worker. It is as weak as that is vague, factors of e^1.5 either way.
//
// A hopeful BetaC costs nothing, as a larger batch is tried without a
// restart; a hopeful AlphaN costs one. AlphaN = 1 and BetaC = e^1.5 over the
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

// Fit is the [Fitter] that finds the most likely parameters under the prior
// by Levenberg and Marquardt's method, from the last fit.
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
	x = f.solve(x)
	s := f.speed(x)
	n := f.at(x)
	if l, ok := n.factor(0); ok {
		s.root = &l
	}
	return s
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

// normal is the linearised problem at a point: half the gradient and the
// Gauss-Newton matrix of the sum of squares.
type normal struct {
	cost float64
	g    [terms]float64
	h    [terms][terms]float64
}

func (n *normal) add(r float64, d *[terms]float64, weight float64) {
	n.cost += weight * r * r
	for i := range terms {
		if d[i] == 0 {
			continue
		}
		wd := weight * d[i]
		n.g[i] += wd * r
		for k := range i + 1 {
			n.h[i][k] += wd * d[k]
		}
	}
}

// at sums up residuals and their derivatives.
func (f *mapFit) at(x [terms]float64) normal {
	var n normal
	for i := range terms {
		r := (x[i] - f.Mean[i]) / f.SD[i]
		n.cost += r * r
		n.g[i] += r / f.SD[i]
		n.h[i][i] += 1 / (f.SD[i] * f.SD[i])
	}
	s := f.speed(x)
	weight := 1 / (f.Noise * f.Noise)
	for _, o := range f.obs {
		var dc, dt [terms]float64
		step, compute := s.Times(o.Nodes, o.Workers, o.Local)
		dc[0] = s.AlphaC / compute
		dc[1] = 1 - dc[0]
		n.add(math.Log(compute/math.Max(o.Step-o.Sync, least)), &dc, weight)
		s.slopes(o, step, compute, &dc, &dt)
		n.add(math.Log(step/o.Step), &dt, weight)
	}
	return n
}

// slopes fills in the derivatives of the logarithm of the step time.
func (s *Speed) slopes(o Observation, step, compute float64, dc, dt *[terms]float64) {
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

// solve walks downhill from x.
func (f *mapFit) solve(x [terms]float64) [terms]float64 {
	const iterations, tolerance = 12, 1e-3
	now, damp := f.at(x), 1e-3
	for range iterations {
		d, ok := now.step(damp)
		if !ok {
			return x
		}
		y := x
		for i := range y {
			y[i] += math.Max(-3, math.Min(3, d[i]))
		}
		next := f.at(y)
		if next.cost > now.cost {
			if damp *= 10; damp > 1e6 {
				return x
			}
			continue
		}
		done := now.cost-next.cost < tolerance*(1+next.cost)
		x, now, damp = y, next, damp/5
		if done {
			return x
		}
	}
	return x
}

// factor is the Cholesky factor of H + damp·diag H, false if it has none.
func (n *normal) factor(damp float64) (l [terms][terms]float64, ok bool) {
	l = n.h
	for i := range terms {
		l[i][i] *= 1 + damp
		for k := range i + 1 {
			sum := l[i][k]
			for m := range k {
				sum -= l[i][m] * l[k][m]
			}
			if i != k {
				l[i][k] = sum / l[k][k]
				continue
			}
			if !(sum > 0) {
				return l, false
			}
			l[i][i] = math.Sqrt(sum)
		}
	}
	return l, true
}

// step solves (H + damp·diag H) d = −g.
func (n *normal) step(damp float64) (d [terms]float64, ok bool) {
	l, ok := n.factor(damp)
	if !ok {
		return d, false
	}
	for i := range terms {
		d[i] = -n.g[i]
		for m := range i {
			d[i] -= l[i][m] * d[m]
		}
		d[i] /= l[i][i]
	}
	for i := terms - 1; i >= 0; i-- {
		for m := i + 1; m < terms; m++ {
			d[i] -= l[m][i] * d[m]
		}
		d[i] /= l[i][i]
	}
	return d, true
}
