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

// spot is a rectangle of shapes of one form, in the logarithms of its two
// parameters; the shape in its middle stands for all.
type spot struct {
	power         bool
	scale, bend   float64 // of x, and the exponent
	dScale, dBend float64 // widths
	splits        int
	gone          bool // replaced by its quarters
}

// shape returns the shape in the middle.
func (s spot) shape() shape {
	if s.power {
		return shiftedPower{math.Exp(s.bend), math.Exp(s.scale)}
	}
	return stretched{math.Exp(s.scale), math.Exp(s.bend)}
}

// log returns the logarithm of the part of an original spot.
func (s spot) log() float64 { return -float64(s.splits) * math.Log(4) }

// split returns the four quarters.
func (s spot) split() []spot {
	var out []spot
	for _, a := range []float64{-1, 1} {
		for _, b := range []float64{-1, 1} {
			out = append(out, spot{s.power, s.scale + a*s.dScale/4, s.bend + b*s.dBend/4, s.dScale / 2, s.dBend / 2, s.splits + 1, false})
		}
	}
	return out
}

// touches says whether two spots are the same or neighbours.
func (s *spot) touches(o spot) bool {
	const slack = 1 + 1e-6
	return s.power == o.power && math.Abs(s.scale-o.scale) <= slack*(s.dScale+o.dScale)/2 &&
		math.Abs(s.bend-o.bend) <= slack*(s.dBend+o.dBend)/2
}

// allSpots is the grid of shapes for a record of so many points over seen
// steps.
func allSpots(points int, seen float64) []spot {
	grid := func(power bool, scales, bends []float64) []spot {
		var out []spot
		for _, a := range scales {
			for _, b := range bends {
				out = append(out, spot{power, math.Log(a * seen), math.Log(b), math.Log(scales[1] / scales[0]), math.Log(bends[1] / bends[0]), 0, false})
			}
		}
		return out
	}
	// A power law that begins to fall well before the first point is not told
	// from one that does so even earlier.
	return append(grid(true, geometric(1/float64(4*points), 4, 13), geometric(1./8, 4, 12)),
		grid(false, geometric(1./32, 32, 14), geometric(1./4, 2, 8))...)
}

// geometric returns n numbers from lo to hi in equal ratios.
func geometric(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	return out
}
