package agent

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Speed is the throughput model of Pollux (OSDI 2021, equations 8 to 11) for
// one GPU type. With b samples per worker on k workers,
//
//	compute = AlphaC + BetaC·b
//	sync    = AlphaN + BetaN·max(k − 2, 0)   on several nodes
//	          AlphaR + BetaR·max(k − 2, 0)   on one node, nothing for one worker
//	step    = (compute^Gamma + sync^Gamma)^(1/Gamma)
type Speed struct {
	AlphaC float64 // s
	BetaC  float64 // s/sample
	AlphaN float64 // s
	BetaN  float64 // s/worker
	AlphaR float64 // s
	BetaR  float64 // s/worker
	Gamma  float64 // 1 to 10

	// root factorises the inverse covariance of the logarithms of the
	// parameters, in the coordinates of [Prior]; nil if the fit is singular.
	root *mat.Cholesky
}

// Uncertainty is the standard deviation of the logarithm of the step time, 0
// if the fit is singular.
func (s *Speed) Uncertainty(nodes, workers int, local float64) float64 {
	if s.root == nil {
		return 0
	}
	var dc, dt [terms]float64
	step, compute := s.Times(nodes, workers, local)
	s.slopes(Observation{Key: Key{nodes, workers, local}}, step, compute, &dc, &dt)
	d := mat.NewVecDense(terms, dt[:])
	var solved mat.VecDense
	if s.root.SolveVecTo(&solved, d) != nil {
		return math.Inf(1)
	}
	return math.Sqrt(mat.Dot(d, &solved))
}

// least is the smallest value of a parameter but Gamma, in its unit. The published
// program uses it for zero.
const least = 1e-8

// Times returns the seconds of one step without accumulation and of its
// compute part, which is what a further accumulation micro-step takes.
func (s *Speed) Times(nodes, workers int, local float64) (step, compute float64) {
	compute = s.AlphaC + s.BetaC*local
	sync := s.sync(nodes, workers)
	if sync <= least {
		return compute, compute
	}
	return norm(compute, sync, s.Gamma), compute
}

func (s *Speed) sync(nodes, workers int) float64 {
	beyond := math.Max(float64(workers)-2, least)
	switch {
	case nodes > 1:
		return s.AlphaN + s.BetaN*beyond
	case workers > 1:
		return s.AlphaR + s.BetaR*beyond
	}
	return least
}

// norm is (a^g + b^g)^(1/g), relative to the larger term so that it cannot
// overflow.
func norm(a, b, g float64) float64 {
	if a < b {
		a, b = b, a
	}
	if g == 1 {
		return a + b
	}
	return a * math.Exp(math.Log1p(math.Exp(g*math.Log(b/a)))/g)
}
