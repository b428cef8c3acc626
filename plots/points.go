package plots

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/grouped"
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
	return map[Quantity]string{Throughput: "throughput (samples/s)", Goodput: "goodput (samples/s)", Speed: "speed (steps/s)"}[q]
}

// Point is one measurement. Lo and Hi are its 95 % interval, both zero if not known. A
// point with a Status other than ok has no Y and is drawn as a cross on the axis.
type Point struct {
	X, Y   float64
	Lo, Hi float64
	Status data.Status
}

// ok reports whether the point has a value.
func (p Point) ok() bool { return p.Status == "" || p.Status == data.OK }

// Band is one point of a fitted curve with its 90 % interval, dashed if Extrapolated.
type Band struct {
	X            float64
	Mean, Lo, Hi float64
	Extrapolated bool
}

// BandOf returns the point of a curve at x.
func BandOf(x float64, e data.Estimate, extrapolated bool) Band {
	return Band{X: x, Mean: e.Mean, Lo: e.Lo, Hi: e.Hi, Extrapolated: extrapolated}
}

// MeasuredPoints turns measurements into points over workers. The interval is that of the
// mean step time, ± 2 StepTimeSE, or Student's t interval of independent steps, too narrow
// if they are correlated; relative to it that of a rate (the delta method).
//
// Goodput, which measurements do not have, is refused, and throughput without a batch.
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

// relativeHalfWidth is that of the 95 % interval of the mean step time, 0 if not known.
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

// largest is the largest magnitude that is drawn: ticks cannot be computed beyond it.
const largest = 1e100

// bad returns the error for a field of a spec: "figure:series[0].name: …".
func bad(field, found, want string) error {
	return &data.InputError{Source: data.Source{File: "figure", Column: field}, Found: found, Want: want}
}

// finite checks that a number can be drawn.
func finite(field string, v float64) error {
	if math.IsNaN(v) || math.Abs(v) > largest {
		return bad(field, show(v), "a finite number")
	}
	return nil
}

// positive checks that a number can be drawn on a logarithmic axis.
func positive(field string, v float64) error {
	if !(v > 0) || v > largest {
		return bad(field, show(v), "a finite number > 0")
	}
	if v < 1/largest { // its axis would begin at zero
		return bad(field, show(v), "at least "+show(1/largest))
	}
	return nil
}

// show writes a number for an error.
func show(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// check refuses a spec with a number that is not as wanted, or an interval without its
// value, and names its field. A failed point needs only its X; the X of a curve ascend.
func check(field string, spec any, want func(field string, v float64) error) (err error) {
	switch x := spec.(type) {
	case float64:
		return want(field, x)
	case data.Estimate:
		return checkInterval(field, x.Lo, x.Mean, x.Hi)
	case Point:
		err = want(field+".x", x.X)
		if x.ok() {
			err = cmp.Or(err, want(field+".y", x.Y))
		}
		if x.ok() && (x.Lo != 0 || x.Hi != 0) {
			err = cmp.Or(err, checkInterval(field, x.Lo, x.Y, x.Hi))
		}
		return err
	case Band:
		return cmp.Or(want(field+".x", x.X), want(field+".mean", x.Mean), checkInterval(field, x.Lo, x.Mean, x.Hi))
	}
	switch v := reflect.ValueOf(spec); v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return check(field, v.Elem().Interface(), want)
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && err == nil; i++ {
			at := fmt.Sprintf("%s[%d]", field, i)
			err = check(at, v.Index(i).Interface(), want)
			if curve, ok := spec.([]Band); ok && err == nil && i > 0 && curve[i].X <= curve[i-1].X {
				err = bad(at+".x", show(curve[i].X), "more than "+show(curve[i-1].X)+", the x before it")
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if name := v.Type().Field(i); name.IsExported() {
				err = check(strings.TrimPrefix(field+"."+strings.ToLower(name.Name), "."), v.Field(i).Interface(), want)
			}
		}
	}
	return err
}

// checkInterval checks that lo ≤ mean ≤ hi, up to rounding, all finite.
func checkInterval(field string, lo, mean, hi float64) error {
	err := cmp.Or(finite(field+".lo", lo), finite(field+".hi", hi))
	if slack := 1e-9 * math.Abs(mean); err == nil && (lo > mean+slack || hi < mean-slack) {
		return bad(field, fmt.Sprintf("interval %s to %s around %s", show(lo), show(hi), show(mean)), "lo ≤ value ≤ hi")
	}
	return err
}

// checkName refuses an empty name in the legend.
func checkName(field, name string) error {
	if name == "" {
		return bad(field, "", "a name for the legend")
	}
	return nil
}

// checkDrawable refuses a figure without a value to draw, and names the statuses found.
func checkDrawable(field string, pts []Point, curves int) error {
	switch {
	case curves > 0 || slices.ContainsFunc(pts, Point.ok):
		return nil
	case len(pts) == 0:
		return bad(field, "nothing", "at least one measured point or curve")
	}
	return bad(field, CountFailed(pts, func(p Point) data.Status { return p.Status }), "at least one measurement that is ok, or a curve")
}

// CountFailed counts the statuses other than ok: "2 out of memory, 1 failed".
func CountFailed[T any](all []T, status func(T) data.Status) string {
	_, of := grouped.By(all, status)
	var found []string
	for _, s := range data.Statuses() {
		if n := len(of[s]); n > 0 && s != data.OK {
			found = append(found, fmt.Sprintf("%d %s", n, statusLabel(s)))
		}
	}
	return strings.Join(found, ", ")
}
