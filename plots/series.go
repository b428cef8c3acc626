package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
)

// Series is the measurements and the fitted curve of one GPU type, mode or
// other variant.
type Series struct {
	Name   string  // for the legend, such as "a100, allreduce"
	Points []Point // measurements, in any order
	Curve  []Band  // prediction, X ascending; nil for none
	Knee   *Knee   // nil for none
}

// Knee is where adding workers stops paying.
type Knee struct {
	X, Y float64
	Note string // replaces the text "knee: X workers"
}

// dashed is the dash pattern of predictions outside the measured range.
func dashed() []vg.Length { return []vg.Length{4, 3} }

// dotted is the pattern of guide lines.
func dotted() []vg.Length { return []vg.Length{1.2, 2.4} }

// checkSeries checks every series and that there is something to draw.
func checkSeries(all []Series, check func(string, float64) error) error {
	var pts []Point
	var curves int
	for i, s := range all {
		at := fmt.Sprintf("series[%d]", i)
		if err := checkName(at+".name", s.Name); err != nil {
			return err
		}
		if err := checkPoints(at+".points", s.Points, check); err != nil {
			return err
		}
		if err := checkBands(at+".curve", s.Curve, check); err != nil {
			return err
		}
		if k := s.Knee; k != nil {
			if err := check(at+".knee.x", k.X); err != nil {
				return err
			}
			if err := check(at+".knee.y", k.Y); err != nil {
				return err
			}
		}
		pts = append(pts, s.Points...)
		curves += min(1, len(s.Curve))
	}
	return checkDrawable("series", pts, curves)
}

// extents returns the range of both axes. Where the prediction is
// extrapolated its interval can explode; there the axis makes room for no
// more than half again the largest value, and the ribbon is cut off.
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

// mostBands is how many series show their intervals: of more, the ribbons
// would hide one another, and the legend says that they are left out.
const mostBands = 4

// addAll adds every series with its knee, shades what is extrapolated and
// explains the parts in the legend.
func (c *Chart) addAll(all []Series) {
	extrapolated := c.addExtrapolated(all)
	for i := range all {
		c.addSeries(all, i)
	}
	for i, s := range all {
		c.addKnee(i, s)
	}
	c.addCommonEntries(all, extrapolated)
}

// mapped returns the series with every value y at x replaced by f(x, y), which
// rises or falls in y throughout.
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
	if s.Knee != nil {
		out.Knee = &Knee{s.Knee.X, f(s.Knee.X, s.Knee.Y), s.Knee.Note}
	}
	return out
}

// addSeries adds ribbon, curve, points and failed points of a series.
func (c *Chart) addSeries(all []Series, i int) {
	s, col := all[i], seriesColor(i)
	if len(s.Curve) > 1 && len(all) <= mostBands {
		c.layers = append(c.layers, ribbon{s.Curve, fade(col, 0.18)})
	}
	c.addCurve(s.Curve, draw.LineStyle{Color: col, Width: curveWidth})
	glyph := draw.GlyphStyle{Color: col, Radius: markRadius, Shape: seriesShape(i)}
	var ok []Point
	var failed []float64
	for _, p := range s.Points {
		if p.ok() {
			ok = append(ok, p)
		} else {
			failed = append(failed, p.X)
		}
	}
	c.layers = append(c.layers, dots{ok, glyph})
	if len(failed) > 0 {
		slices.Sort(failed)
		cross := draw.GlyphStyle{Color: col, Radius: markRadius, Shape: crossGlyph{}}
		c.layers = append(c.layers, rug{slices.Compact(failed), failingSeries(all[i+1:]), cross})
	}
	c.legend = append(c.legend, seriesEntry(s, ok, glyph))
	c.addTooltips(s)
}

// failingSeries counts the series that have failed points. As the row of a
// series is the number of failing ones after it, the rows stand in the order
// of the legend, close to the axis.
func failingSeries(all []Series) int {
	var n int
	for _, s := range all {
		if slices.ContainsFunc(s.Points, func(p Point) bool { return !p.ok() }) {
			n++
		}
	}
	return n
}

// seriesEntry returns the legend entry that shows what the series has.
func seriesEntry(s Series, ok []Point, glyph draw.GlyphStyle) entry {
	e := entry{label: s.Name}
	col := glyph.Color
	if len(s.Curve) > 0 {
		e.line = &draw.LineStyle{Color: col, Width: curveWidth}
	}
	if len(ok) > 0 || len(s.Curve) == 0 {
		e.glyph = &glyph
	}
	return e
}

// addCurve adds the runs of a curve, dashed where it is extrapolated. A step
// between a measured and an extrapolated x counts as extrapolated.
func (c *Chart) addCurve(curve []Band, sty draw.LineStyle) {
	for start := 0; start+1 < len(curve); {
		dash := curve[start].Extrapolated || curve[start+1].Extrapolated
		end := start + 1
		for end+1 < len(curve) && (curve[end].Extrapolated || curve[end+1].Extrapolated) == dash {
			end++
		}
		l := line{style: sty}
		if dash {
			l.style.Dashes = dashed()
		}
		for _, b := range curve[start : end+1] {
			l.xs, l.ys = append(l.xs, b.X), append(l.ys, b.Mean)
		}
		c.layers = append(c.layers, l)
		start = end
	}
	if len(curve) == 1 {
		c.layers = append(c.layers, marker{curve[0].X, curve[0].Mean, draw.GlyphStyle{Color: sty.Color, Radius: markRadius, Shape: draw.RingGlyph{}}})
	}
}

// addExtrapolated shades where every curve is extrapolated and reports
// whether anything is.
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
	if !any {
		return false
	}
	lo, hi := c.Plot.X.Min, c.Plot.X.Max
	if inside.empty() {
		c.layers = append(c.layers, zone{from: lo, to: hi, fill: shadeColor})
		return true
	}
	x, _ := extents(all)
	if x.lo < inside.lo {
		c.layers = append(c.layers, zone{from: lo, to: inside.lo, fill: shadeColor})
	}
	if x.hi > inside.hi {
		c.layers = append(c.layers, zone{from: inside.hi, to: hi, fill: shadeColor})
	}
	return true
}

// addCommonEntries explains bars, ribbons, dashes and crosses, each only if
// it is there.
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
	grey := draw.GlyphStyle{Color: mutedColor, Radius: markRadius, Shape: barGlyph{}}
	if bars {
		c.legend = append(c.legend, entry{label: "95 % interval, measured", glyph: &grey})
	}
	if ribbons && len(all) <= mostBands {
		c.legend = append(c.legend, entry{label: "90 % interval, predicted", fill: fade(mutedColor, 0.25)})
	}
	if extrapolated {
		c.legend = append(c.legend, entry{label: "extrapolated", fill: shadeColor, line: &draw.LineStyle{Color: mutedColor, Width: curveWidth, Dashes: dashed()}})
	}
	var names []string
	for _, s := range data.Statuses() {
		if failed[s] {
			names = append(names, statusLabel(s))
		}
	}
	if len(names) > 0 {
		cross := draw.GlyphStyle{Color: mutedColor, Radius: markRadius, Shape: crossGlyph{}}
		c.legend = append(c.legend, entry{label: joinWords(names, "or"), glyph: &cross})
	}
}
