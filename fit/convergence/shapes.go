package convergence

import "math"

// shape falls from 1 at x = 0 to 0 at infinity: the power law of learning
// curves (1 + x/scale)^−bend (Hestness et al., 2017), or the stretched
// exponential exp(−(x/scale)^bend) (Domhan et al., IJCAI'15, "weibull").
type shape struct {
	power       bool
	scale, bend float64 // steps, exponent
}

func (g shape) at(x float64) float64 {
	x = math.Max(x, 0) / g.scale
	if g.power {
		return math.Pow(1+x, -g.bend)
	}
	return math.Exp(-math.Pow(x, g.bend))
}

const (
	// numbers of scales and exponents of each form
	scaleNodes = 32
	bendNodes  = 16
)

// allShapes returns the grid of shapes for a record of points values over seen
// steps, equally many of either form, uniform in the logarithms of scale and
// exponent. coarse divides the numbers of scales and exponents.
func allShapes(points int, seen float64, coarse int) []shape {
	var out []shape
	add := func(power bool, scales, bends []float64) {
		for _, scale := range scales {
			for _, bend := range bends {
				out = append(out, shape{power, scale * seen, bend})
			}
		}
	}
	// Power laws with scales well below the first point look alike.
	add(true, geometric(1/float64(4*points), 4, scaleNodes/coarse), geometric(1./8, 4, bendNodes/coarse))
	add(false, geometric(1./32, 32, scaleNodes/coarse), geometric(1./4, 2, bendNodes/coarse))
	return out
}

// geometric returns n numbers from lo to hi in equal ratios.
func geometric(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	return out
}
