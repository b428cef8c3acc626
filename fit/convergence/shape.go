package convergence

import "math"

// curveShape is a falling curve from about 1 at 0 to 0 at infinity: a
// shifted power law (1 + x/scale)^−shape or a stretched exponential
// exp(−(x/scale)^shape).
type curveShape struct {
	power        bool
	shape, scale float64 // exponent, and steps
}

func (g curveShape) at(x float64) float64 {
	x = math.Max(x, 0)
	if g.power {
		return math.Pow(1+x/g.scale, -g.shape)
	}
	return math.Exp(-math.Pow(x/g.scale, g.shape))
}

// curveShapes is the grid of shapes, for a record of so many points over seen
// steps. The time constants of the exponentials go with the planned length of
// the run, as plans are made to let training settle; without a plan with the
// record.
//
// Neighbours on the grid differ little enough that a record without noise,
// which no shape between two of them fits, still has some that do.
func curveShapes(points int, seen, planned float64) []curveShape {
	scales := []float64{.02, .037, .07, .12, .2, .35, .6, 1, 1.5, 2.5, 4}
	// What falls faster than that is seen only by records with many points.
	for _, x0 := range []float64{.01, .005} {
		if x0*float64(points) >= 1 {
			scales = append(scales, x0)
		}
	}
	var gs []curveShape
	for i := range 12 {
		alpha := .15 * math.Pow(20, float64(i)/11) // .15 to 3
		for _, x0 := range scales {
			gs = append(gs, curveShape{true, alpha, x0 * seen})
		}
	}
	lo, hi := .3*seen, 15*seen
	if planned > seen {
		lo, hi = math.Min(lo, .3*planned), 3*planned
	}
	for i := range 10 {
		tau := lo * math.Pow(hi/lo, float64(i)/9)
		for j := range 7 {
			gs = append(gs, curveShape{false, .25 * math.Pow(8.8, float64(j)/6), tau}) // δ .25 to 2.2
		}
	}
	return gs
}
