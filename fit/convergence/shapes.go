package convergence

import "math"

// shape is how a curve falls: from about 1 at 0 to 0 at infinity.
type shape interface{ at(x float64) float64 }

// shiftedPower is (1 + x/scale)^−alpha, the power law of learning curves
// (Hestness et al., 2017).
type shiftedPower struct{ alpha, scale float64 } // exponent, steps

func (g shiftedPower) at(x float64) float64 {
	return math.Pow(1+math.Max(x, 0)/g.scale, -g.alpha)
}

// stretched is the stretched exponential exp(−(x/tau)^delta) (Domhan et al.,
// IJCAI'15, "weibull").
type stretched struct{ tau, delta float64 } // steps, exponent

func (g stretched) at(x float64) float64 {
	return math.Exp(-math.Pow(math.Max(x, 0)/g.tau, g.delta))
}

// allShapes is the grid of shapes for a record of so many points over seen
// steps. Neighbours on it differ little enough that a record without noise,
// which no shape between two of them fits, still has some that do.
func allShapes(points int, seen float64) []shape {
	var gs []shape
	// A power law that begins to fall well before the first point is not told
	// from one that does so even earlier.
	for _, scale := range geometric(1/float64(4*points), 4, 16) {
		for _, alpha := range geometric(1./8, 4, 16) {
			gs = append(gs, shiftedPower{alpha, scale * seen})
		}
	}
	for _, tau := range geometric(1./32, 32, 16) {
		for _, delta := range geometric(1./4, 2, 10) {
			gs = append(gs, stretched{tau * seen, delta})
		}
	}
	return gs
}

// geometric returns n numbers from lo to hi in equal ratios.
func geometric(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	return out
}
