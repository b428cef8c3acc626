package fit

import (
	"math"

	"knee/data"
	"knee/internal/quantile"
)

// Band returns the fitted loss (or metric) after x steps with its 90 %
// interval over the alternatives that the points leave open. It is the
// interval of the smooth curve, not of single noisy losses.
func (c *Convergence) Band(x float64) data.Estimate {
	e := data.Estimate{Mean: c.LossAt(x)}
	e.Lo, e.Hi = e.Mean, e.Mean
	var ls, ws []float64
	for _, cell := range c.Cells {
		ls, ws = append(ls, c.fromLoss(cell.Curve.At(x))), append(ws, cell.Weight)
	}
	if len(ls) > 0 {
		e.Lo = math.Min(e.Mean, quantile.Weighted(ls, ws, .05))
		e.Hi = math.Max(e.Mean, quantile.Weighted(ls, ws, .95))
	}
	return e
}

// AtInitialBatch returns the points of training curves with Step counting
// steps at the initial batch, as [FitConvergence] counts them: points that
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
