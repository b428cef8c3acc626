package agent

import "math"

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
