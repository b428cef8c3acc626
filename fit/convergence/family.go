package convergence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"
)

// CurveForm is a parametric training curve with its parameters.
type CurveForm interface {
	// At returns the loss after x ≥ 0 steps.
	At(x float64) float64
	// StepsTo returns the steps to a loss, false if it is never reached.
	StepsTo(loss float64) (float64, bool)
}

// singleFamily is a parametric form whose shape parameters are searched on a
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

// families is the registry of published single curves.
func families() []singleFamily {
	return []singleFamily{optimusFamily(), sublinearFamily(), linearRateFamily(), powerFamily(), weibullFamily()}
}

// Auto is the family setting that leaves the choice to [Fit].
const Auto = "auto"

// Names of what [Fit] does by default.
const (
	CurveHorizon = "curve-horizon" // no finished run of the job is known
	TemplateHits = "template-hits" // finished runs are known
)

// FamilyNames returns the names of the published single curves
// that [Settings.Family] accepts besides [Auto].
func FamilyNames() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

func familyNamed(name string) (singleFamily, error) {
	all := families()
	i := slices.IndexFunc(all, func(f singleFamily) bool { return f.name == name })
	if i < 0 {
		return singleFamily{}, &data.InputError{Source: data.Source{Column: "convergence family"}, Found: fmt.Sprintf("%q", name),
			Want: "one of " + Auto + ", " + strings.Join(FamilyNames(), ", ")}
	}
	return all[i], nil
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

// maxSingleCells is how many alternatives a model keeps.
const maxSingleCells = 200

// fit fits the family to a record: every shape on the grid, weighed by its
// tempered likelihood, and the best refined by a compass search.
func (f singleFamily) fit(xs, ls []float64) *SingleFit {
	span := math.Max(slices.Max(ls)-slices.Min(ls), 1e-9)
	n := float64(len(xs))
	var s SingleFit
	var best []float64
	bestRSS := math.Inf(1)
	for _, u := range f.grid() {
		p, rss := f.solve(u, xs, ls)
		if !finite(rss) {
			continue
		}
		s.Cells = append(s.Cells, SingleCell{p, temper(rss/n, span, .1*n+2)})
		if rss < bestRSS {
			best, s.Parameters, bestRSS = u, p, rss
		}
	}
	if best == nil {
		return &s
	}
	s.Parameters = f.refine(best, s.Parameters, bestRSS, xs, ls)
	slices.SortStableFunc(s.Cells, func(a, b SingleCell) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	s.Cells = slices.Clone(s.Cells[:min(len(s.Cells), maxSingleCells)])
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
	step := .5 / float64(slices.Min(f.shapes)-1)
	for step > 1e-9 {
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
