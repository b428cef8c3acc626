package data

import (
	"io"
	"math"
	"slices"
)

// ReadCurve reads curve.csv: any of its columns, with at least one x (step or iteration,
// epoch, progress) and one y (loss, metric, grad_sqr), in the header and in each row. Empty
// cells are NaN; written NaN and Inf are errors. Unknown columns give one warning.
func ReadCurve(r io.Reader, name string) ([]CurvePoint, []string, error) {
	t, err := NewTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !t.Has("step", "iteration", "epoch", "progress"):
		return nil, nil, t.Missing("step", "a column step, iteration, epoch or progress")
	case !t.Has("loss", "metric", "grad_sqr"):
		return nil, nil, t.Missing("loss", "a column loss, metric or grad_sqr")
	case t.Has("step") && t.Has("iteration"):
		return nil, nil, t.Missing("iteration", "step or iteration, which mean the same, not both")
	}
	points, columns := []CurvePoint{}, curveColumns(false)
	err = t.Each(func(row *Row) error {
		points = append(points, curvePoint(row, columns))
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return points, t.Unknown(append(columnNames(columns), "iteration")), nil
}

// WriteCurve writes curve.csv with the columns that hold a value, all of them if there are
// no points. A point that [ReadCurve] would refuse is an error.
func WriteCurve(w io.Writer, points []CurvePoint) error {
	return writeTable(w, "curve", points, curveColumns(len(points) == 0), ReadCurve)
}

// curveColumns are the columns of curve.csv; with keep, empty ones are written too.
func curveColumns(keep bool) []columnOf[CurvePoint] {
	type P = CurvePoint
	done, value := NonNegative("a number"), Any("a finite number, or an empty cell if it was not recorded")
	text := func(name string, of func(*P) *string) columnOf[P] {
		return columnOf[P]{name, keep, func(p P) string { return *of(&p) }, func(r *Row, p *P) { *of(p) = r.Text(name) }}
	}
	number := func(name string, b Bounds, of func(*P) *float64) columnOf[P] {
		cell := func(p P) string {
			if v := *of(&p); !math.IsNaN(v) { // unlike in a measurement, zeros are values
				return numberText(v)
			}
			return ""
		}
		return columnOf[P]{name, keep, cell, func(r *Row, p *P) { *of(p) = r.Number(name, math.NaN(), b) }}
	}
	return []columnOf[P]{
		text("job", func(p *P) *string { return &p.Job }),
		text("run", func(p *P) *string { return &p.Run }),
		number("step", done, func(p *P) *float64 { return &p.Step }),
		number("epoch", done, func(p *P) *float64 { return &p.Epoch }),
		number("progress", done, func(p *P) *float64 { return &p.Progress }),
		number("loss", value, func(p *P) *float64 { return &p.Loss }),
		number("metric", value, func(p *P) *float64 { return &p.Metric }),
		number("global_batch", Samples(), func(p *P) *float64 { return &p.GlobalBatch }),
		// Estimates of the gradient moments from few samples may be negative.
		number("grad_sqr", value, func(p *P) *float64 { return &p.GradSqr }),
		number("grad_var", value, func(p *P) *float64 { return &p.GradVar }),
	}
}

func curvePoint(r *Row, columns []columnOf[CurvePoint]) (p CurvePoint) {
	readInto(r, &p, columns)
	if r.Cell("iteration") != "" {
		p.Step = r.Number("iteration", math.NaN(), NonNegative("a number"))
	}
	if r.err == nil && allNaN(p.Step, p.Epoch, p.Progress) {
		r.Fail("step", "nothing", "step, epoch or progress in every row")
	}
	if r.err == nil && allNaN(p.Loss, p.Metric, p.GradSqr) {
		r.Fail("loss", "nothing", "loss, metric or grad_sqr in every row")
	}
	return p
}

func allNaN(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return !math.IsNaN(v) })
}
