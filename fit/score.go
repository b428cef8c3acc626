package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// FamilyScore is how well one family would have predicted the measurements
// of one GPU type and mode. Errors are mean absolute percentage errors of
// the step time, NaN where there is too little to hold out.
type FamilyScore struct {
	GPUType     string
	Mode        data.Mode
	Family      string
	Chosen      bool    // the family the model uses
	LeaveOneOut float64 // percent; each measurement predicted from the others
	Forward     float64 // percent; the larger half of the worker counts predicted from the smaller
	Parameters  []Param
	Warnings    []string
}

// maxFolds bounds the refits behind a leave-one-out error; with more rows
// than this, several are left out at once.
const maxFolds = 24

// Families scores every family on the measurements the model keeps, by GPU
// type and mode, best leave-one-out error first. It refits each family many
// times: expect a second for hundreds of measurements. It fails with the
// error of ctx alone.
//
// Neither error decides what Auto uses. With the few rows of a real study
// both reward families that grow linearly where they should not, and
// choosing by them predicts worse than one form with good priors.
func (m *Model) Families(ctx context.Context) ([]FamilyScore, error) {
	var all []FamilyScore
	for _, g := range m.groups {
		var scores []FamilyScore
		for _, name := range familiesOf(g.mode) {
			s := g.score(ctx, name)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s.Chosen = name == g.stack.form.name()
			scores = append(scores, s)
		}
		slices.SortStableFunc(scores, func(a, b FamilyScore) int {
			ka, kb := sortable(a.LeaveOneOut), sortable(b.LeaveOneOut)
			switch {
			case ka < kb:
				return -1
			case ka > kb:
				return 1
			}
			return 0
		})
		all = append(all, scores...)
	}
	return all, nil
}

func sortable(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// score fits one family to the rows of the group and holds rows out.
func (g *group) score(ctx context.Context, name string) FamilyScore {
	s := FamilyScore{GPUType: g.gpuType, Mode: g.mode, Family: name, LeaveOneOut: math.NaN(), Forward: math.NaN()}
	fail := func(err error) FamilyScore {
		s.Warnings = append(s.Warnings, err.Error())
		return s
	}
	f, sc, pts, full := g.prepare(name)
	l := layOut(full, pts, f.kernel())
	theta, status, err := solve(f, l, g.spread, nil)
	if err != nil {
		return fail(err)
	}
	if status != "" {
		s.Warnings = append(s.Warnings, "did not converge: "+status)
	}
	st, err := newStack(f, sc, theta, l, g.spread, g.seed(0))
	if err != nil {
		return fail(err)
	}
	s.Parameters = st.parameters()
	h := holdOut{f: f, s: sc, rows: full, pts: pts, spread: g.spread}
	if s.LeaveOneOut, err = h.leaveOneOut(ctx, theta); err != nil {
		return fail(err)
	}
	if s.Forward, err = h.forward(); err != nil {
		return fail(err)
	}
	return s
}

// holdOut refits a form on part of the rows.
type holdOut struct {
	f    form
	s    scale
	rows []data.Measurement
	pts  []point
	// spread was inferred from all rows: it says nothing about one of them.
	spread spread
}

// leaveOneOut starts every refit from the fit to all rows: leaving out one
// row moves it little.
func (h holdOut) leaveOneOut(ctx context.Context, theta []float64) (float64, error) {
	n := len(h.rows)
	if n < 2 {
		return math.NaN(), nil
	}
	folds := min(n, maxFolds)
	var sum float64
	for fold := range folds {
		e, err := h.testError(func(i int) bool { return i%folds != fold }, theta)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return math.NaN(), err
		}
		sum += e
	}
	return 100 * sum / float64(n), nil
}

// forward predicts the rows above the median number of workers from the rest.
func (h holdOut) forward() (float64, error) {
	var ks []float64
	for i := range h.pts {
		ks = append(ks, h.pts[i].workers)
	}
	middle := quantile.Median(ks)
	if middle >= slices.Max(ks) { // more than half at the top
		if middle = slices.Max(ks) - 1; middle < slices.Min(ks) {
			return math.NaN(), nil
		}
	}
	var tests float64
	for _, k := range ks {
		if k > middle {
			tests++
		}
	}
	sum, err := h.testError(func(i int) bool { return h.pts[i].workers <= middle }, nil)
	return 100 * sum / tests, err
}

// testError fits to the rows that train selects and returns the sum of the
// relative errors on the others.
func (h holdOut) testError(train func(int) bool, start []float64) (float64, error) {
	var rows []data.Measurement
	var pts []point
	for i := range h.rows {
		if train(i) {
			rows, pts = append(rows, h.rows[i]), append(pts, h.pts[i])
		}
	}
	l := layOut(rows, pts, h.f.kernel())
	theta, _, err := solve(h.f, l, h.spread, start)
	if err != nil {
		return 0, fmt.Errorf("hold out: %w", err)
	}
	st, _, err := newPointStack(h.f, h.s, theta, l, h.spread)
	if err != nil {
		return 0, fmt.Errorf("hold out: %w", err)
	}
	var sum float64
	for i := range h.rows {
		if !train(i) {
			sum += math.Abs(math.Exp(st.logStep(&h.pts[i]))/h.rows[i].StepTime - 1)
		}
	}
	return sum, nil
}
