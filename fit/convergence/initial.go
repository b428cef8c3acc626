package convergence

import "knee/data"

// AtInitialBatch returns the points of training curves with Step counting
// steps at the initial batch, as [Fit] counts them: points that
// cannot be placed are left out.
func AtInitialBatch(points []data.CurvePoint, initialBatch float64) []data.CurvePoint {
	x := pickCurve(points, nil, initialBatch).x
	var out []data.CurvePoint
	for _, p := range points {
		if p.Step = x(p); finite(p.Step) {
			out = append(out, p)
		}
	}
	return out
}
