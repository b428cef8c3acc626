package data

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"

	"knee/internal/list"
)

// ReadCurve reads curve.csv: any of its columns, with at least one x (step or iteration,
// epoch, progress) and one y (loss, metric, grad_sqr), in the header and in each row. Empty
// cells are NaN; written NaN and Inf are errors. Unknown columns give one warning, values
// that a resumed run recorded again another.
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
	points, lines := []CurvePoint{}, []int{}
	err = EachOf(t, func(row *Row, p *CurvePoint) error {
		if allNaN(p.Step, p.Epoch, p.Progress) {
			row.Fail("step", "nothing", "step, epoch or progress in every row")
		}
		if allNaN(p.Loss, p.Metric, p.GradSqr) {
			row.Fail("loss", "nothing", "loss, metric or grad_sqr in every row")
		}
		points, lines = append(points, *p), append(lines, row.Line)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	warnings := t.Unknown(ColumnNames[CurvePoint]())
	dropped, first := 0, len(points)
	for _, value := range []func(*CurvePoint) *float64{
		func(p *CurvePoint) *float64 { return &p.Loss },
		func(p *CurvePoint) *float64 { return &p.Metric },
		func(p *CurvePoint) *float64 { return &p.GradSqr },
	} {
		n, i := dropRepeated(points, value)
		dropped, first = dropped+n, min(first, i)
	}
	if dropped > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: line %d goes back to an earlier step, as after a resume: %s recorded before, from that step on, left out; several runs in one file need a column run",
			t.name, lines[first], english.Plural(dropped, "value", "")))
	}
	empty := func(p CurvePoint) bool { return allNaN(p.Loss, p.Metric, p.GradSqr) }
	return slices.DeleteFunc(points, empty), warnings, nil
}

// dropRepeated sets a value to NaN where its run later went back to the same or an earlier
// step. It returns how many it set, and the first point that went back. A run that goes back
// as often as forwards is in no order, and stays.
func dropRepeated(points []CurvePoint, value func(*CurvePoint) *float64) (dropped, first int) {
	type run struct {
		job, run, batch string
		x               int // steps and epochs are not compared
	}
	runs := map[run][]int{} // points with the value
	for i := range points {
		if p := &points[i]; !allNaN(*value(p)) {
			x, _ := p.x()
			key := run{p.Job, p.Run, fmt.Sprint(p.GlobalBatch), x}
			runs[key] = append(runs[key], i)
		}
	}
	first = len(points)
	for _, of := range runs {
		at := list.Map(of, func(i int) float64 { _, x := points[i].x(); return x })
		order, least, kept := 0, math.Inf(1), false // least: step recorded later; kept: the next value stays
		for k := range at[1:] {
			order += cmp.Compare(at[k+1], at[k])
		}
		for k := len(of) - 1; k >= 0 && order > 0; k-- {
			again := kept && at[k] == at[k+1] // by another worker
			if kept = at[k] < least || again; !kept {
				*value(&points[of[k]]) = math.NaN()
				dropped++
			}
			if least = min(least, at[k]); k > 0 && at[k] < at[k-1] {
				first = min(first, of[k])
			}
		}
	}
	return dropped, first
}

// x is the first of step, epoch and progress that was recorded, and which it is.
func (p *CurvePoint) x() (which int, x float64) {
	all := []float64{p.Step, p.Epoch, p.Progress}
	which = slices.IndexFunc(all, func(x float64) bool { return !math.IsNaN(x) })
	return which, all[which]
}

// WriteCurve writes curve.csv with the columns that hold a value, all of them if there are
// no points. A point that [ReadCurve] would refuse is an error.
func WriteCurve(w io.Writer, points []CurvePoint) error {
	return WriteTable(w, "curve", points, ReadCurve)
}

func allNaN(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return !math.IsNaN(v) })
}
