package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gocarina/gocsv"
)

// curveRow is one row of curve.csv as text, in the order of the columns.
// Iteration is another name of Step and is read only.
type curveRow struct {
	Job         string `csv:"job"`
	Run         string `csv:"run"`
	Step        string `csv:"step"`
	Epoch       string `csv:"epoch"`
	Progress    string `csv:"progress"`
	Loss        string `csv:"loss"`
	Metric      string `csv:"metric"`
	GlobalBatch string `csv:"global_batch"`
	GradSqr     string `csv:"grad_sqr"`
	GradVar     string `csv:"grad_var"`
	Iteration   string `csv:"iteration"`
}

// curveColumns lists the columns of curve.csv in order.
func curveColumns() []string {
	return []string{"job", "run", "step", "epoch", "progress", "loss", "metric", "global_batch", "grad_sqr", "grad_var", "iteration"}
}

// ReadCurve reads curve.csv from r: any subset of its columns with at least
// one x (step, which may be called iteration, epoch or progress) and one y
// (loss, metric or grad_sqr), of which each row needs one too. Absent
// quantities are NaN; NaN and Inf written out are refused. Unknown columns
// give one warning.
func ReadCurve(r io.Reader, name string) ([]CurvePoint, []string, error) {
	t, err := readTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !t.has("step", "iteration", "epoch", "progress"):
		return nil, nil, t.missing("step", "a column step, iteration, epoch or progress")
	case !t.has("loss", "metric", "grad_sqr"):
		return nil, nil, t.missing("loss", "a column loss, metric or grad_sqr")
	case t.has("step") && t.has("iteration"):
		return nil, nil, t.missing("iteration", "step or iteration, which mean the same, not both")
	}
	var rows []curveRow
	if err := gocsv.UnmarshalCSV(t, &rows); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	points := make([]CurvePoint, 0, len(rows))
	for i, cr := range rows {
		p, err := cr.point(Source{File: name, Line: t.lines[i]})
		if err != nil {
			return nil, nil, err
		}
		points = append(points, p)
	}
	never := func(string) bool { return false }
	return points, t.unknownWarning(curveColumns(), never), nil
}

// LoadCurve reads the training curve at path, as [ReadCurve] does; see
// [Open] for "-" and compressed files.
func LoadCurve(path string) ([]CurvePoint, []string, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadCurve(f, path)
}

// WriteCurve writes curve.csv with the columns that hold a value, all of
// them if there are no points. NaN is an empty cell. A point that
// [ReadCurve] would refuse is an error.
func WriteCurve(w io.Writer, points []CurvePoint) error {
	rows := make([]curveRow, len(points))
	for i, p := range points {
		rows[i] = newCurveRow(p)
		if _, err := rows[i].point(Source{File: fmt.Sprintf("point %d", i+1)}); err != nil {
			return fmt.Errorf("write curve: %w", err)
		}
	}
	var all recorder
	if err := gocsv.MarshalCSV(rows, &all); err != nil {
		return fmt.Errorf("write curve: %w", err)
	}
	var keep []string
	if len(points) == 0 {
		columns := curveColumns()
		keep = columns[:slices.Index(columns, "iteration")]
	}
	if err := csv.NewWriter(w).WriteAll(all.withoutEmpty(keep)); err != nil {
		return fmt.Errorf("write curve: %w", err)
	}
	return nil
}

func newCurveRow(p CurvePoint) curveRow {
	return curveRow{
		Job: p.Job, Run: p.Run, Step: formatPoint(p.Step), Epoch: formatPoint(p.Epoch),
		Progress: formatPoint(p.Progress), Loss: formatPoint(p.Loss), Metric: formatPoint(p.Metric),
		GlobalBatch: formatPoint(p.GlobalBatch), GradSqr: formatPoint(p.GradSqr), GradVar: formatPoint(p.GradVar),
	}
}

// point converts the cells, which came from src.
func (cr curveRow) point(src Source) (CurvePoint, error) {
	r := &row{src: src}
	const wantDone = "a number ≥ 0"
	const wantFinite = "a finite number, or an empty cell if it was not recorded"
	done := func(v float64) bool { return v >= 0 }
	any := func(float64) bool { return true }
	absent := math.NaN()
	p := CurvePoint{Job: r.text("job", cr.Job), Run: r.text("run", cr.Run)}
	p.Step = r.number("step", cr.Step, absent, wantDone, done)
	if cr.Iteration != "" {
		p.Step = r.number("iteration", cr.Iteration, absent, wantDone, done)
	}
	p.Epoch = r.number("epoch", cr.Epoch, absent, wantDone, done)
	p.Progress = r.number("progress", cr.Progress, absent, wantDone, done)
	p.Loss = r.number("loss", cr.Loss, absent, wantFinite, any)
	p.Metric = r.number("metric", cr.Metric, absent, wantFinite, any)
	p.GlobalBatch = r.number("global_batch", cr.GlobalBatch, absent, wantBatch, func(v float64) bool { return v > 0 && v <= maxBatch })
	// Estimates of the gradient moments from few samples may be negative.
	p.GradSqr = r.number("grad_sqr", cr.GradSqr, absent, wantFinite, any)
	p.GradVar = r.number("grad_var", cr.GradVar, absent, wantFinite, any)
	if r.err == nil && allNaN(p.Step, p.Epoch, p.Progress) {
		r.fail("step", "nothing", "step, epoch or progress in every row")
	}
	if r.err == nil && allNaN(p.Loss, p.Metric, p.GradSqr) {
		r.fail("loss", "nothing", "loss, metric or grad_sqr in every row")
	}
	return p, r.err
}

// formatPoint writes the shortest number that reads back as v, and NaN,
// which means "not recorded", as an empty cell. Unlike a measurement, a
// curve has true zeros.
func formatPoint(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func allNaN(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return !math.IsNaN(v) })
}
