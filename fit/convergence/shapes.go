package convergence

import "math"

// shape is how a curve falls, from 1 at 0 to 0 at infinity: the power law of
// learning curves (1 + x/scale)^−bend (Hestness et al., 2017), or the
// stretched exponential exp(−(x/scale)^bend) (Domhan et al., IJCAI'15,
// "weibull").
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
	// scaleNodes and bendNodes are the scales and exponents tried of each form.
	scaleNodes = 32
	bendNodes  = 16
)

// allShapes is the grid of shapes for a record of so many points over seen
// steps, coarser by a factor, as many of either form, evenly in the logarithms of scale and exponent.
func allShapes(points int, seen float64, coarse int) []shape {
	var out []shape
	add := func(power bool, scales, bends []float64) {
		for _, scale := range scales {
			for _, bend := range bends {
				out = append(out, shape{power, scale * seen, bend})
			}
		}
	}
	// A power law that begins to fall well before the first point is not told
	// from one that does so even earlier.
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
