package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
)

// Series is the measurements and the fitted curve of one variant, such as a GPU type.
type Series struct {
	Name   string  // for the legend, such as "a100, allreduce"
	Points []Point // measurements, in any order
	Curve  []Band  // prediction, X ascending; nil for none
	Knee   *Knee   // nil for none
	// Layouts says that the curve is of the fastest layout at each X.
	Layouts bool
}

// Knee is where adding workers stops paying.
type Knee struct {
	X, Y float64
	Note string // replaces the text "knee: X workers"
}

// checkSeries checks every series and that there is something to draw.
func checkSeries(all []Series, want func(string, float64) error) error {
	var pts []Point
	var curves int
	for i, s := range all {
		at := fmt.Sprintf("series[%d]", i)
		if err := cmp.Or(checkName(at+".name", s.Name), check(at, s, want)); err != nil {
			return err
		}
		pts = append(pts, s.Points...)
		curves += min(1, len(s.Curve))
	}
	return checkDrawable("series", pts, curves)
}

// extents returns the range of both axes; ribbons are cut at 1.5 times the largest value.
func extents(all []Series) (x, y extent) {
	x, y = newExtent(), newExtent()
	wide := newExtent()
	for _, s := range all {
		for _, p := range s.Points {
			x.add(p.X)
			if p.ok() {
				y.add(p.Y)
				if p.Hi > p.Lo {
					wide.add(p.Lo, p.Hi)
				}
			}
		}
		for _, b := range s.Curve {
			x.add(b.X)
			y.add(b.Mean)
			wide.add(b.Lo, b.Hi)
		}
		if s.Knee != nil {
			x.add(s.Knee.X)
			y.add(s.Knee.Y)
		}
	}
	if !wide.empty() {
		y.add(math.Min(wide.hi, 1.5*y.hi), math.Max(wide.lo, y.lo/1.5))
	}
	return x, y
}

// mostBands is how many series at most show their intervals, which hide one another.
const mostBands = 4

// addAll adds every series with its knee, and explains the parts in the legend.
func (c *Chart) addAll(all []Series) {
	extrapolated := c.addExtrapolated(all)
	c.addRibbons(all)
	for i := range all {
		c.addSeries(all, i)
	}
	for i, s := range all {
		c.addKnee(i, s)
	}
	c.addCommonEntries(all, extrapolated)
}

// mapped returns the series without a knee, with f(x, y) for y, monotonic in y.
func (s Series) mapped(f func(x, y float64) float64) Series {
	interval := func(x, lo, hi float64) (float64, float64) {
		if lo == 0 && hi == 0 {
			return 0, 0
		}
		lo, hi = f(x, lo), f(x, hi)
		if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
			return 0, 0
		}
		return math.Min(lo, hi), math.Max(lo, hi)
	}
	out := Series{Name: s.Name}
	for _, p := range s.Points {
		if p.ok() {
			p.Y = f(p.X, p.Y)
			p.Lo, p.Hi = interval(p.X, p.Lo, p.Hi)
		}
		out.Points = append(out.Points, p)
	}
	for _, b := range s.Curve {
		b.Mean = f(b.X, b.Mean)
		b.Lo, b.Hi = interval(b.X, b.Lo, b.Hi)
		out.Curve = append(out.Curve, b)
	}
	return out
}

// addRibbons adds the intervals of all curves, below every curve.
func (c *Chart) addRibbons(all []Series) {
	for i, s := range all {
		if len(all) <= mostBands {
			c.add(ribbon(s.Curve, fade(seriesColor(i), 0.18)))
		}
	}
}

// addSeries adds curve, points and failed points of a series.
func (c *Chart) addSeries(all []Series, i int) {
	s, col := all[i], seriesColor(i)
	c.addCurve(s.Curve, solid(col))
	_, by := grouped.By(s.Points, Point.ok)
	ok, failed := by[true], slices.Sorted(slices.Values(list.Map(by[false], func(p Point) float64 { return p.X })))
	glyph := mark(col, seriesShape(i))
	c.add(dots(glyph, ok))
	if len(failed) > 0 {
		c.add(rug(mark(col, crossGlyph{}), slices.Compact(failed), failingSeries(all[i+1:])))
	}
	key := entry{label: s.Name}
	if len(s.Curve) > 0 {
		key.line = solid(col)
	}
	if len(ok) > 0 || len(s.Curve) == 0 {
		key.glyph = glyph
	}
	c.explain(key)
	c.addTooltips(s)
}

// failingSeries counts the series with failed points: of those drawn after a series, the
// row of its own, so that rows stand in the order of the legend.
func failingSeries(all []Series) int {
	return list.Count(all, func(s Series) bool { return slices.ContainsFunc(s.Points, func(p Point) bool { return !p.ok() }) })
}

// addCurve adds the runs of a curve, dashed where either end is extrapolated.
func (c *Chart) addCurve(curve []Band, sty draw.LineStyle) {
	if len(curve) == 1 {
		c.add(marker(mark(sty.Color, draw.RingGlyph{}), curve[0].X, curve[0].Mean))
	}
	for i := 0; i+1 < len(curve); {
		run, dash := sty, curve[i].Extrapolated || curve[i+1].Extrapolated
		if dash {
			run.Dashes = dashPattern
		}
		xs, ys := []float64{curve[i].X}, []float64{curve[i].Mean}
		for ; i+1 < len(curve) && (curve[i].Extrapolated || curve[i+1].Extrapolated) == dash; i++ {
			xs, ys = append(xs, curve[i+1].X), append(ys, curve[i+1].Mean)
		}
		c.add(polyline(run, xs, ys))
	}
}

// addExtrapolated shades where every curve is extrapolated; false if none is anywhere.
func (c *Chart) addExtrapolated(all []Series) bool {
	inside, any := newExtent(), false
	for _, s := range all {
		for _, b := range s.Curve {
			if b.Extrapolated {
				any = true
			} else {
				inside.add(b.X)
			}
		}
	}
	x, _ := extents(all)
	lo, hi := c.Plot.X.Min, c.Plot.X.Max
	shade := func(from, to float64) { c.background = append(c.background, zone(shadeColor, from, to, math.Inf(1))) }
	switch {
	case any && inside.empty():
		shade(lo, hi)
	case any:
		if x.lo < inside.lo {
			shade(lo, inside.lo)
		}
		if x.hi > inside.hi {
			shade(inside.hi, hi)
		}
	}
	return any
}

// addCommonEntries explains error bars, ribbons, dashes and crosses, if drawn.
func (c *Chart) addCommonEntries(all []Series, extrapolated bool) {
	bars, ribbons := false, false
	failed := map[data.Status]bool{}
	for _, s := range all {
		for _, p := range s.Points {
			bars = bars || p.ok() && p.Hi > p.Lo
			if !p.ok() {
				failed[p.Status] = true
			}
		}
		for _, b := range s.Curve {
			ribbons = ribbons || b.Hi > b.Lo
		}
	}
	if bars {
		c.explain(entry{label: "95 % interval, measured", glyph: mark(mutedColor, barGlyph{})})
	}
	switch {
	case ribbons && len(all) <= mostBands:
		c.explain(entry{label: "90 % interval, predicted", fill: fade(mutedColor, 0.25)})
	case ribbons:
		c.explain(entry{label: fmt.Sprintf("intervals of more than %d curves are not drawn", mostBands)})
	}
	if extrapolated {
		dashed := solid(mutedColor)
		dashed.Dashes = dashPattern
		c.explain(entry{label: "extrapolated", fill: shadeColor, line: dashed})
	}
	statuses := slices.DeleteFunc(data.Statuses(), func(s data.Status) bool { return !failed[s] })
	if len(statuses) > 0 {
		c.explain(entry{label: english.WordSeries(list.Map(statuses, statusLabel), "or"), glyph: mark(mutedColor, crossGlyph{})})
	}
}

// addKnee marks the knee of a series, drops a line to the axis and labels it.
func (c *Chart) addKnee(i int, s Series) {
	if s.Knee == nil {
		return
	}
	col, k := seriesColor(i), s.Knee
	c.add(drop(draw.LineStyle{Color: col, Width: thinWidth, Dashes: dashPattern}, k.X, k.Y), marker(mark(col, haloGlyph{}), k.X, k.Y))
	c.annotations = append(c.annotations, annotation{k.X, k.Y, cmp.Or(k.Note, "knee: "+amount(k.X, "workers")), col})
}
