package plots

import (
	"errors"
	"fmt"

	"knee/data"
	"knee/fit/convergence"
)

// curvePoints is how many points a fitted curve is drawn through.
const curvePoints = 120

// ConvergenceOf describes a fitted training curve: its points, in steps at the
// batch initial (0: as recorded), and its predicted course, to 1.3 times the
// recorded steps or on to where the target is reached. A target that is never
// reached gets a warning in place of a crossing.
func ConvergenceOf(c *convergence.Curve, points []data.CurvePoint, initial float64, target *float64) (spec Convergence, warnings []string, err error) {
	spec = Convergence{Title: "Convergence", Subtitle: courseSubtitle(c, nil), Target: target, XLabel: "step"}
	spec.Points, spec.YLabel = curveDots(convergence.AtInitialBatch(points, initial), c.Rising != nil)
	if len(points) > 0 && points[0].Job != "" {
		spec.Title = "Convergence of " + points[0].Job
	}
	switch {
	case c.Epochs:
		spec.XLabel = "epoch"
	case initial > 0:
		spec.XLabel = fmt.Sprintf("step at batch %s", Number(initial))
	}
	end := 1.3 * c.LastX
	if target != nil {
		t, err := c.Target(*target)
		var never *convergence.NeverReachedError
		switch {
		case err == nil:
			spec.Crossing, spec.Subtitle = &t.Steps, courseSubtitle(c, &t)
			end = max(end, min(1.1*t.Steps.Hi, max(5*c.LastX, 1.3*t.Steps.Mean)))
			warnings = append(warnings, t.Notes...)
		case errors.As(err, &never):
			warnings = append(warnings, err.Error())
		default:
			return spec, nil, err
		}
	}
	course := c.Course(target)
	if course.Cut {
		spec.Subtitle += ", fitted from step " + Number(course.From)
	}
	for i := range curvePoints {
		u := float64(i) / (curvePoints - 1) // denser where the curve falls fast
		x := course.From + (end-course.From)*u*u
		spec.Curve = append(spec.Curve, BandOf(x, course.Band(x), x > c.LastX))
	}
	return spec, warnings, nil
}

// courseSubtitle names the source of a course and, with a target that is reached,
// its condition.
func courseSubtitle(c *convergence.Curve, t *convergence.Answer) string {
	from := fmt.Sprintf("median of many curves that fit the record (%s)", c.Family)
	switch {
	case c.Family == convergence.Optimus:
		from = "the form " + c.Family
	case len(c.Templates) > 0:
		from = fmt.Sprintf("median of many curves that fit the record and finished runs (%s)", c.Family)
	}
	switch {
	case t == nil:
		return "curve: " + from
	case t.Method == "recorded":
		return "curve: " + from + "; the target was reached in the record"
	case c.Family == convergence.Optimus:
		return "curve: " + from
	}
	return fmt.Sprintf("curve: %s, if the target is reached (probability %.0f %%)", from, 100*t.Chance)
}

// curveDots returns the measured points of a curve, and what they are: losses,
// or the metric where no loss is recorded.
func curveDots(points []data.CurvePoint, rising bool) ([]Point, string) {
	if dots := LossPoints(points); len(dots) > 0 && !rising {
		return dots, "loss"
	}
	for i := range points {
		points[i].Loss = points[i].Metric
	}
	return LossPoints(points), "metric"
}
