package plots

import (
	"errors"
	"fmt"

	"knee/data"
	"knee/fit"
)

// curvePoints is how many points a fitted curve is drawn through.
const curvePoints = 120

// ConvergenceOf is what a fitted training curve says: the points it was
// fitted to, which are in steps at the batch initial (0 for steps as
// recorded), the curve with its band to a third beyond the steps seen, or to
// where the target is reached. A target that is never reached is drawn
// without a crossing; unreached says so.
func ConvergenceOf(c *fit.Convergence, points []data.CurvePoint, initial float64, target *float64) (spec Convergence, unreached error, err error) {
	points = fit.AtInitialBatch(points, initial)
	spec = Convergence{Title: "Convergence", Points: LossPoints(points), Target: target, XLabel: "step"}
	if len(points) > 0 && points[0].Job != "" {
		spec.Title = "Convergence of " + points[0].Job
	}
	if initial > 0 {
		spec.XLabel = fmt.Sprintf("step at batch %s", number(initial))
	}
	end := 1.3 * c.LastX
	if target != nil {
		e, err := c.StepsTo(*target)
		var never *fit.NeverReachedError
		switch {
		case err == nil:
			spec.Crossing = &e
			end = max(end, min(1.1*e.Hi, 5*c.LastX))
		case errors.As(err, &never):
			unreached = err
		default:
			return spec, nil, err
		}
	}
	for i := range curvePoints {
		x := end * float64(i+1) / curvePoints
		spec.Curve = append(spec.Curve, BandOf(x, c.Band(x), x > c.LastX))
	}
	return spec, unreached, nil
}
