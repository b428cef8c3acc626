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
	points := []CurvePoint{}
	err = EachOf(t, func(row *Row, p *CurvePoint) error {
		if allNaN(p.Step, p.Epoch, p.Progress) {
			row.Fail("step", "nothing", "step, epoch or progress in every row")
		}
		if allNaN(p.Loss, p.Metric, p.GradSqr) {
			row.Fail("loss", "nothing", "loss, metric or grad_sqr in every row")
		}
		points = append(points, *p)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return points, t.Unknown(ColumnNames[CurvePoint]()), nil
}

// WriteCurve writes curve.csv with the columns that hold a value, all of them if there are
// no points. A point that [ReadCurve] would refuse is an error.
func WriteCurve(w io.Writer, points []CurvePoint) error {
	return WriteTable(w, "curve", points, ReadCurve)
}

func allNaN(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return !math.IsNaN(v) })
}
