package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"knee/data"
	"knee/internal/quantile"
)

// Screening of measurements that cannot be of what they say they are: a
// trial that swapped, shared its GPU, or was logged in another unit.
const (
	// minScreen is the fewest rows among which one can be told to be wrong.
	minScreen = 5
	// A row is left out if its step time is this factor off what all the
	// others predict, and that by this many standard deviations. Real
	// surprises, such as a slow link met for the first time, are within
	// the posterior, which is wide where nothing near was measured.
	outlierFactor     = 3
	outlierDeviations = 5
	// maxShare is the largest share of rows left out: beyond it the form, not
	// the rows, is wrong.
	maxShare = .2
	// manyRows is from how many rows on one of them is taken to move the fit
	// so little that a refit without it need not be sought from afar.
	manyRows = 100
)

// screenRepeats drops measurements far off the median of at least three of
// the same configuration, before they are averaged.
func screenRepeats(ms []data.Measurement) (kept []data.Measurement, warnings []string) {
	times := map[string][]float64{}
	for _, m := range ms {
		times[m.Key()] = append(times[m.Key()], m.StepTime)
	}
	for _, m := range ms {
		of := times[m.Key()]
		middle := quantile.Median(of)
		if len(of) >= 3 && math.Abs(math.Log(m.StepTime/middle)) > math.Log(outlierFactor) {
			warnings = append(warnings, outlierWarning(m, middle, "the other runs of this configuration"))
			continue
		}
		kept = append(kept, m)
	}
	return kept, warnings
}

// screen drops rows that the others contradict, the worst first, refitting
// after each. It uses this project's form of the mode whatever the family
// asked for, as the residuals of the published ones say less. It returns the
// parameters of that form that it arrived at, nil if it did not fit the rows
// that are left.
//
// Where rows are many, one more or less moves the fit little, and every fit
// starts from the one before.
func (g *group) screen(ctx context.Context) (theta []float64, err error) {
	n := len(g.rows)
	for left := int(maxShare * float64(n)); left > 0 && len(g.rows) >= minScreen; left-- {
		at, expected, found, err := g.worst(ctx, theta)
		if err != nil || at < 0 {
			return found, err
		}
		if theta = nil; len(g.rows) >= manyRows {
			theta = found
		}
		g.dropped = append(g.dropped, outlierWarning(g.rows[at], expected, fmt.Sprintf("the other %d", len(g.rows)-1)))
		g.count -= int(g.runs[at])
		g.rows, g.runs = slices.Delete(slices.Clone(g.rows), at, at+1), slices.Delete(slices.Clone(g.runs), at, at+1)
	}
	return nil, ctx.Err()
}

// worst returns the row that the fit to all others contradicts most, with
// the step time they expect, or −1 if none is contradicted, and the fit to
// all, which starts from start unless that is nil.
func (g *group) worst(ctx context.Context, start []float64) (at int, expected float64, theta []float64, err error) {
	name, err := familyFor(Auto, g.mode)
	if err != nil {
		return -1, 0, nil, err
	}
	f, _, pts, full := g.prepare(name)
	l := layOut(full, pts, f.kernel())
	theta, _, err = solve(f, l, g.spread, start)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return -1, 0, nil, err
	}
	at = -1
	least := math.Inf(1)
	for _, i := range l.suspects(f, g.spread, theta) {
		w, err := g.without(i, theta)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return -1, 0, nil, err
		}
		off := math.Abs(l.step.ln[i] - w.mean)
		// Of two rows that contradict each other, the one that the rest can
		// do without is wrong.
		if off > math.Log(outlierFactor) && off > outlierDeviations*w.sd && w.cost < least {
			at, expected, least = i, math.Exp(w.mean), w.cost
		}
	}
	return at, expected, theta, nil
}

// suspects returns up to three rows that the linearised fit at theta misses
// most, in standard deviations, if it misses them by enough to look closer.
func (l *layout) suspects(f form, s spread, theta []float64) []int {
	mean, sd, ok := l.leaveOneOut(f, s, theta)
	if !ok {
		return nil
	}
	miss := func(i int) float64 { return math.Abs(l.step.ln[i]-mean[i]) / sd[i] }
	var rows []int
	for i := range mean {
		if miss(i) > 3 && math.Abs(l.step.ln[i]-mean[i]) > math.Log(outlierFactor)/2 {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		switch d := miss(b) - miss(a); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	return rows[:min(len(rows), 3)]
}

// absence is the fit to all rows but one.
type absence struct {
	mean, sd float64 // predicted ln step time of the row left out
	cost     float64 // half the squared whitened residuals of the others, prior included
}

// without fits to all rows but row i and predicts that. The fit to all is
// where it starts if rows are many.
func (g *group) without(i int, all []float64) (absence, error) {
	rest := &group{gpuType: g.gpuType, mode: g.mode, spread: g.spread, borrowed: g.borrowed}
	rest.rows = slices.Delete(slices.Clone(g.rows), i, i+1)
	rest.runs = slices.Delete(slices.Clone(g.runs), i, i+1)
	name, err := familyFor(Auto, g.mode)
	if err != nil {
		return absence{}, err
	}
	f, sc, pts, full := rest.prepare(name)
	l := layOut(full, pts, f.kernel())
	var start []float64
	if len(g.rows) >= manyRows {
		start = all
	}
	theta, _, err := solve(f, l, g.spread, start)
	if err != nil {
		return absence{}, err
	}
	o, err := l.observe(g.spread, 0)
	if err != nil {
		return absence{}, err
	}
	pr := o.problem(f, f.prior(), f.prior().sd)
	r := make([]float64, pr.Rows)
	pr.Residuals(theta, r)
	// The row itself goes back in last: leaving it out again is then exact in
	// the residual and linear in the parameters only.
	back := append(slices.Clone(full), withMode(g.rows[i:i+1], g.mode)...)
	l = layOut(back, append(pts, pointOf(back[len(back)-1].Config, sc)), f.kernel())
	m, s, ok := l.leaveOneOut(f, g.spread, theta)
	if !ok {
		return absence{sd: math.Inf(1)}, nil
	}
	return absence{m[len(m)-1], s[len(s)-1], blas64.Dot(vector(r), vector(r)) / 2}, nil
}

func outlierWarning(m data.Measurement, expected float64, others string) string {
	where := ""
	if m.Source.File != "" || m.Source.Line > 0 {
		src := m.Source
		src.Column = "step_time_s"
		where = src.String() + ": "
	}
	return fmt.Sprintf("%sleft out %s: %.4g s is %.3g times the %.3g s that %s say",
		where, m.Config, m.StepTime, m.StepTime/expected, expected, others)
}
