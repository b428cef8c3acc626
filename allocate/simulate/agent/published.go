package agent

import (
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/optimize"
)

// Published fits the objective of the published PolluxAgent: the root mean
// square errors of the logarithms of compute and step time, plus small
// penalties on a Gamma away from 1 and on sync times that grow with workers.
// What no observation shows is frozen, at nothing, so that an unmeasured
// direction looks free and gets tried (OSDI 2021, section 4.1, "prior-driven
// exploration"). The published program minimises with L-BFGS-B from the same
// start; here it is BFGS over the logarithms of the parameters.
func Published(_ Limits, obs []Observation, _ *Speed) *Speed {
	p := newPublished(obs)
	s := p.speed(minimise(p.objective, p.start()))
	if !p.several {
		s.AlphaN, s.BetaN = math.Max(s.AlphaN, 1.1*s.AlphaR), math.Max(s.BetaN, 1.1*s.BetaR)
	}
	return s
}

// published is one fit: which parameters are free, and the data.
type published struct {
	obs                               []Observation
	batches, several, onenode, beyond bool // what the observations differ in or have
	alphaC                            float64
}

func newPublished(obs []Observation) *published {
	p := &published{obs: obs}
	var compute float64
	for _, o := range obs {
		compute += (o.Step - o.Sync) / float64(len(obs))
		p.batches = p.batches || o.Local != obs[0].Local
		p.several = p.several || o.Nodes > 1
		p.onenode = p.onenode || o.Nodes == 1 && o.Workers > 1
		p.beyond = p.beyond || o.Workers > 2
	}
	p.alphaC = compute / 2
	return p
}

// start lists the free parameters as logarithms, Gamma last and on its own
// scale: 1 + 9/(1 + e^−x).
func (p *published) start() []float64 {
	alpha, beta := math.Log(0.1), math.Log(0.01)
	x := []float64{beta}
	if p.batches {
		x = append(x, alpha)
	}
	if p.several {
		x = append(x, alpha)
		if p.beyond {
			x = append(x, beta)
		}
	}
	if p.onenode {
		x = append(x, alpha)
		if p.beyond {
			x = append(x, beta)
		}
	}
	return append(x, math.Log(0.001/8.999))
}

// speed fills in the parameters.
func (p *published) speed(x []float64) *Speed {
	s := &Speed{AlphaC: p.alphaC, AlphaN: least, BetaN: least, AlphaR: least, BetaR: least}
	next := func() float64 {
		v := math.Max(math.Exp(math.Min(x[0], 30)), least)
		x = x[1:]
		return v
	}
	s.BetaC = next()
	if p.batches {
		s.AlphaC = next()
	}
	if p.several {
		s.AlphaN = next()
		if p.beyond {
			s.BetaN = next()
		}
	}
	if p.onenode {
		s.AlphaR = next()
		if p.beyond {
			s.BetaR = next()
		}
	}
	s.Gamma = 1 + 9/(1+math.Exp(-x[0]))
	return s
}

func (p *published) objective(x []float64) float64 {
	s := p.speed(x)
	var compute, step float64
	for _, o := range p.obs {
		t, c := s.Times(o.Nodes, o.Workers, o.Local)
		ec, et := math.Log(c/(o.Step-o.Sync)), math.Log(t/o.Step)
		compute += ec * ec
		step += et * et
	}
	n := float64(len(p.obs))
	g, rn, rr := s.Gamma-1, s.BetaN/s.AlphaN, s.BetaR/s.AlphaR
	return math.Sqrt(compute/n) + math.Sqrt(step/n) + 1e-3*g*g + 1e-2*(rn*rn+rr*rr)
}

// minimise returns the best point that BFGS finds from x.
func minimise(f func([]float64) float64, x []float64) []float64 {
	best, least := x, f(x)
	problem := optimize.Problem{
		Func: func(x []float64) float64 {
			y := f(x)
			if y < least {
				best, least = append([]float64(nil), x...), y
			}
			return y
		},
		Grad: func(g, x []float64) { fd.Gradient(g, f, x, &fd.Settings{Formula: fd.Central}) },
	}
	// A line search that finds nothing better ends it: what was best counts.
	_, _ = optimize.Minimize(problem, x, &optimize.Settings{MajorIterations: 60}, &optimize.BFGS{})
	return best
}
