package convergence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/internal/quantile"
)

// Auto is the family setting that leaves the choice to [Fit].
const Auto = "auto"

// Names of what [Fit] does by default.
const (
	CurveHorizon = "curve-horizon" // no finished run of the job is known
	TemplateHits = "template-hits" // finished runs are known
)

// CurveForm is a published training curve with its parameters.
type CurveForm interface {
	// At returns the loss after x ≥ 0 steps.
	At(x float64) float64
	// StepsTo returns the steps to a loss, false if it is never reached.
	StepsTo(loss float64) (float64, bool)
}

// singleFamily is a published form whose shape parameters are searched on a
// grid while the others, in which it is linear after a transformation, are
// solved for. That finds the global optimum where descent from one start
// gets stuck.
type singleFamily struct {
	name   string
	shapes []int // grid points per shape parameter
	// solve returns the parameters of the best curve with the given shape,
	// u in [0, 1] per shape parameter, and its squared error.
	solve func(u, xs, ls []float64) ([]float64, float64)
	form  func(params []float64) CurveForm
	names []string // of the parameters
}

// families is the registry of published curves.
func families() []singleFamily {
	return []singleFamily{optimusFamily(), sublinearFamily(), linearRateFamily(), powerFamily(), weibullFamily()}
}

// FamilyNames returns the names of the published curves that
// [Settings.Family] accepts besides [Auto].
func FamilyNames() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

// familyNamed returns a published family, nil for [Auto].
func familyNamed(name string) (*singleFamily, error) {
	if name == "" || name == Auto {
		return nil, nil
	}
	for _, f := range families() {
		if f.name == name {
			return &f, nil
		}
	}
	return nil, &data.InputError{Source: data.Source{Column: "convergence family"}, Found: fmt.Sprintf("%q", name),
		Want: "one of " + Auto + ", " + strings.Join(FamilyNames(), ", ")}
}

// SingleFit is one published curve fitted to a record, in the terms of
// [Curve]: losses divided by Scale.
type SingleFit struct {
	Parameters []float64    `json:"parameters"` // of the best fit, as the family names them
	Cells      []SingleCell `json:"cells"`      // alternatives behind the interval
}

// SingleCell is an alternative to the best fit, with its posterior weight.
type SingleCell struct {
	Parameters []float64 `json:"parameters"`
	Weight     float64   `json:"weight"`
}

// fit fits the family to a record: every shape on the grid, weighed by its
// likelihood as in [posterior.add] with white noise, and the best refined by a
// compass search.
func (f singleFamily) fit(xs, ls []float64) *SingleFit {
	n := float64(len(xs))
	before := math.Pow(learned().Noise*math.Max(slices.Max(ls)-slices.Min(ls), 1e-9), 2)
	var s SingleFit
	var best []float64
	bestRSS := math.Inf(1)
	var errs []float64
	for _, u := range f.grid() {
		p, rss := f.solve(u, xs, ls)
		if !finite(rss) {
			continue
		}
		s.Cells, errs = append(s.Cells, SingleCell{Parameters: p}), append(errs, rss)
		if rss < bestRSS {
			best, s.Parameters, bestRSS = u, p, rss
		}
	}
	if best == nil {
		return &s
	}
	s.Parameters = f.refine(best, s.Parameters, bestRSS, xs, ls)
	for i := range s.Cells {
		s.Cells[i].Weight = math.Pow((errs[i]+before)/(bestRSS+before), -(n+1)/2)
	}
	s.Cells = slices.DeleteFunc(s.Cells, func(c SingleCell) bool { return c.Weight < negligible })
	slices.SortStableFunc(s.Cells, func(a, b SingleCell) int { return cmp.Compare(b.Weight, a.Weight) })
	return &s
}

// grid returns the points of the shape grid.
func (f singleFamily) grid() [][]float64 {
	points := [][]float64{nil}
	for _, n := range f.shapes {
		var next [][]float64
		for _, p := range points {
			for i := range n {
				next = append(next, append(slices.Clone(p), float64(i)/float64(n-1)))
			}
		}
		points = next
	}
	return points
}

// refine improves a grid point by trying a step either way in each shape
// parameter, halving the step when none helps.
func (f singleFamily) refine(u, params []float64, rss float64, xs, ls []float64) []float64 {
	for step := 1 / float64(2*slices.Min(f.shapes)); step > 1e-9; {
		better := false
		for d := range u {
			for _, s := range []float64{step, -step} {
				try := slices.Clone(u)
				if try[d] = u[d] + s; try[d] < 0 || try[d] > 1 {
					continue
				}
				if p, r := f.solve(try, xs, ls); r < rss {
					u, params, rss, better = try, p, r, true
				}
			}
		}
		if !better {
			step /= 2
		}
	}
	return params
}

// logBetween returns lo·(hi/lo)^u.
func logBetween(lo, hi, u float64) float64 { return lo * math.Pow(hi/lo, u) }

// form returns the published curve with the given parameters, nil if they,
// which may come from a file, are not those of the family.
func (c *Curve) form(params []float64) CurveForm {
	f, err := familyNamed(c.Family)
	if err != nil || f == nil || len(params) != len(f.names) {
		return nil
	}
	return f.form(params)
}

// single returns the published curve asked for, nil if there is none.
func (c *Curve) single() CurveForm {
	if c.Single == nil {
		return nil
	}
	return c.form(c.Single.Parameters)
}

// singlePaths returns the alternatives to the published curve asked for.
func (c *Curve) singlePaths() []path {
	var ps []path
	for _, cell := range c.Single.Cells {
		if form := c.form(cell.Parameters); form != nil {
			ps = append(ps, path{weight: cell.Weight, at: form.At})
		}
	}
	return ps
}

// singleStepsTo answers from the published curve. Where its best fit gets there
// the chance is 1: a single curve has no second opinion.
func (c *Curve) singleStepsTo(t float64) (data.Estimate, float64) {
	x, ok := c.single().StepsTo(t)
	if !ok || !finite(x) {
		return data.Estimate{}, 0
	}
	e := data.Estimate{Mean: math.Max(x, c.LastX)}
	e.Lo, e.Hi = e.Mean, e.Mean
	var steps, weights []float64
	for _, cell := range c.Single.Cells {
		if form := c.form(cell.Parameters); form != nil {
			if x, ok := form.StepsTo(t); ok && finite(x) {
				steps, weights = append(steps, math.Max(x, c.LastX)), append(weights, cell.Weight)
			}
		}
	}
	if q := quantile.Weighted(steps, weights, .05); finite(q) {
		e.Lo, e.Hi = math.Min(e.Mean, q), math.Max(e.Mean, quantile.Weighted(steps, weights, .95))
	}
	return e, 1
}
