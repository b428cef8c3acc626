package plots

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// Quantity is what the vertical axis of a scaling figure shows.
type Quantity string

// The quantities of scaling figures.
const (
	Throughput Quantity = "throughput" // samples/s
	Goodput    Quantity = "goodput"    // samples/s at initial-batch worth
	Speed      Quantity = "speed"      // steps/s
)

// label returns the axis label with its unit; empty if unknown.
func (q Quantity) label() string {
	switch q {
	case Throughput, Goodput:
		return string(q) + " (samples/s)"
	case Speed:
		return "speed (steps/s)"
	}
	return ""
}

// Point is one measurement. Lo and Hi are its 95 % interval; both zero means
// that the spread is not known and no error bar is drawn. A point whose
// Status is neither empty nor ok has no Y and is drawn as a cross on the
// axis.
type Point struct {
	X, Y   float64
	Lo, Hi float64
	Status data.Status
}

// ok reports whether the point has a value.
func (p Point) ok() bool { return p.Status == "" || p.Status == data.OK }

// Band is one point of a fitted curve with its 90 % interval. Extrapolated
// marks predictions outside the measured range, which are drawn dashed.
type Band struct {
	X            float64
	Mean, Lo, Hi float64
	Extrapolated bool
}

// BandOf returns the point of a curve at x.
func BandOf(x float64, e data.Estimate, extrapolated bool) Band {
	return Band{X: x, Mean: e.Mean, Lo: e.Lo, Hi: e.Hi, Extrapolated: extrapolated}
}

// MeasuredPoints turns measurements into points over workers. The interval is that
// of the mean step time, ± 2 StepTimeSE. Without StepTimeSE it is Student's t
// interval of Steps independent steps with standard deviation StepTimeSD, which is
// too narrow if steps are correlated. A rate has the same relative interval (the
// delta method).
//
// Goodput is refused, since measurements have no statistical efficiency, and so is
// a throughput without a batch.
func MeasuredPoints(ms []data.Measurement, q Quantity) ([]Point, error) {
	pts := make([]Point, 0, len(ms))
	for _, m := range ms {
		p := Point{X: float64(m.Workers), Status: m.Status}
		if p.ok() {
			y, err := quantityOf(m, q)
			if err != nil {
				return nil, err
			}
			p.Y = y
			if half := relativeHalfWidth(m); half > 0 {
				p.Lo, p.Hi = y*math.Max(0, 1-half), y*(1+half)
			}
		}
		pts = append(pts, p)
	}
	return pts, nil
}

// quantityOf returns the value of a measurement that is ok.
func quantityOf(m data.Measurement, q Quantity) (float64, error) {
	refuse := func(column, found, want string) error {
		at := m.Source
		at.Column = column
		return &data.InputError{Source: at, Found: found, Want: want}
	}
	if !(m.StepTime > 0) {
		return 0, refuse("step_time_s", show(m.StepTime), "seconds > 0")
	}
	switch q {
	case Speed:
		return 1 / m.StepTime, nil
	case Throughput:
		if y := m.Throughput(); y > 0 {
			return y, nil
		}
		return 0, refuse("local_batch", show(m.LocalBatch), "a batch > 0, from which throughput follows")
	}
	return 0, refuse("quantity", string(q), "throughput or speed, which measurements have")
}

// relativeHalfWidth returns half the 95 % interval of the mean step time
// relative to it, 0 if the spread was not recorded.
func relativeHalfWidth(m data.Measurement) float64 {
	if m.StepTimeSE > 0 {
		return 2 * m.StepTimeSE / m.StepTime
	}
	if m.Steps < 2 || !(m.StepTimeSD > 0) {
		return 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(m.Steps - 1)}.Quantile(0.975)
	return t * m.StepTimeSD / math.Sqrt(float64(m.Steps)) / m.StepTime
}

// statusLabel names a status in a legend.
func statusLabel(s data.Status) string {
	if s == data.OOM {
		return "out of memory"
	}
	return string(s)
}
