package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatMap describes a quantity over two knobs.
type HeatMap struct {
	Title, Subtitle string
	XLabel, YLabel  string // names of the knobs
	Label           string // of the quantity, with its unit
	Cells           []Cell // in any order, each pair (X, Y) at most once
}

// Cell is the value of one configuration.
type Cell struct {
	X, Y     float64
	Value    float64
	Measured bool // dotted: not a prediction
	Best     bool // framed
	Failed   bool // crossed: it does not fit, and has no value
}

// The size of a cell, in points.
const (
	cellWidth  vg.Length = 46
	cellHeight vg.Length = 22
)

// mostCells is how many rows or columns can still be read.
const mostCells = 40

// NewHeatMap returns the figure: one cell per configuration with its value, the
// darker the larger its logarithm.
// Errors name the first cell that cannot be drawn; values must be positive.
func NewHeatMap(h HeatMap) (*Chart, error) {
	var xs, ys []float64
	values := newExtent()
	seen := map[[2]float64]bool{}
	for i, c := range h.Cells {
		at := fmt.Sprintf("cells[%d]", i)
		err := cmp.Or(positive(at+".x", c.X), positive(at+".y", c.Y))
		if !c.Failed {
			err = cmp.Or(err, positive(at+".value", c.Value))
		}
		if err != nil {
			return nil, err
		}
		if seen[[2]float64{c.X, c.Y}] {
			return nil, bad(at, fmt.Sprintf("(%s, %s) again", show(c.X), show(c.Y)), "every pair once")
		}
		seen[[2]float64{c.X, c.Y}] = true
		xs, ys = append(xs, c.X), append(ys, c.Y)
		if !c.Failed {
			values.add(c.Value)
		}
	}
	slices.Sort(xs)
	slices.Sort(ys)
	xs, ys = slices.Compact(xs), slices.Compact(ys)
	if n := max(len(xs), len(ys)); n == 0 || n > mostCells {
		return nil, bad("cells", fmt.Sprintf("%d columns, %d rows", len(xs), len(ys)), fmt.Sprintf("1 to %d of either", mostCells))
	}
	c := newChart(h.Title, h.subtitle(), h.XLabel, h.YLabel)
	c.noGrid = true
	c.Width = max(DefaultWidth, vg.Length(len(xs))*cellWidth+3*vg.Centimeter)
	c.Height = vg.Length(len(ys))*cellHeight + 4*vg.Centimeter
	extent{-0.5, float64(len(xs)) - 0.5}.set(&c.Plot.X, plot.LinearScale{}, places(xs))
	extent{-0.5, float64(len(ys)) - 0.5}.set(&c.Plot.Y, plot.LinearScale{}, places(ys))
	for _, cell := range h.Cells {
		i, _ := slices.BinarySearch(xs, cell.X)
		k, _ := slices.BinarySearch(ys, cell.Y)
		c.add(tile(cell, float64(i), float64(k), heatColor(cell, values)))
	}
	return c, nil
}

// places labels rows or columns with their values.
func places(values []float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i, v := range values {
		out = append(out, plot.Tick{Value: float64(i), Label: Number(v)})
	}
	return out
}

// subtitle explains the cells.
func (h HeatMap) subtitle() string {
	parts := []string{h.Label}
	if h.Subtitle != "" {
		parts = []string{h.Subtitle, h.Label}
	}
	for _, k := range []struct {
		has  func(Cell) bool
		text string
	}{
		{func(c Cell) bool { return c.Measured }, "● measured"},
		{func(c Cell) bool { return c.Failed }, "× does not fit"},
		{func(c Cell) bool { return c.Best }, "framed: the best"},
	} {
		if slices.ContainsFunc(h.Cells, k.has) {
			parts = append(parts, k.text)
		}
	}
	return strings.Join(parts, " · ")
}

// heatColor is the colour of a cell among all values.
func heatColor(c Cell, values extent) color.NRGBA {
	if c.Failed {
		return idleColor
	}
	share := 1.0
	if values.hi > values.lo {
		share = math.Log(c.Value/values.lo) / math.Log(values.hi/values.lo)
	}
	out := tint(palette[0], 0.9*(1-share))
	out.B++ // no colour of the palette, which dark pages replace
	return out
}

// tile draws a cell in its column and row.
func tile(cell Cell, column, row float64, fill color.NRGBA) layer {
	return func(f *frame) {
		r := grow(vg.Rectangle{Min: f.at(column-0.5, row-0.5), Max: f.at(column+0.5, row+0.5)}, -0.5)
		fillRect(&f.Canvas, fill, r)
		sty := keyStyle()
		if sty.Color = textOn(fill); sty.Color == whiteColor {
			sty.Color = lightTextColor
		}
		sty.XAlign, sty.YAlign = draw.XCenter, draw.YCenter
		corner := vg.Point{X: r.Min.X + 5, Y: r.Max.Y - 5}
		switch {
		case cell.Failed: // in a colour that is visible on light and dark pages
			f.DrawGlyphNoClip(draw.GlyphStyle{Color: mutedColor, Radius: 2.4, Shape: crossGlyph{}}, corner)
		case cell.Measured:
			f.DrawGlyphNoClip(draw.GlyphStyle{Color: sty.Color, Radius: 1.6, Shape: draw.CircleGlyph{}}, corner)
		}
		if !cell.Failed {
			f.FillText(sty, middle(r).Add(vg.Point{Y: textRise}), Number(cell.Value))
		}
		if cell.Best {
			rim := []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
			f.StrokeLines(draw.LineStyle{Color: palette[1], Width: 2}, rim)
		}
	}
}
