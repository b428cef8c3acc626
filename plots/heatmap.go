package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

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
	Failed   bool // crossed: it was tried and gave no value
	Empty    bool // there is no value to show; Value is ignored
}

// heatFigure is a [HeatMap] that has been checked and sorted.
type heatFigure struct {
	HeatMap
	xs, ys []float64
	lo, hi float64
}

// The size of a cell, in points.
const (
	cellWidth  vg.Length = 46
	cellHeight vg.Length = 22
)

// mostCells is how many rows or columns can still be read.
const mostCells = 40

// NewHeatMap returns the figure: one cell per configuration with its value
// written in it, on a scale of one hue from light to dark by
// the logarithm. Errors name the first cell that cannot be drawn; values must be
// positive.
func NewHeatMap(h HeatMap) (Figure, error) {
	f := &heatFigure{HeatMap: h, lo: math.Inf(1), hi: math.Inf(-1)}
	seen := map[[2]float64]bool{}
	for i, c := range h.Cells {
		at := fmt.Sprintf("cells[%d]", i)
		if err := finite(at+".x", c.X); err != nil {
			return nil, err
		}
		if err := finite(at+".y", c.Y); err != nil {
			return nil, err
		}
		if err := positive(at+".value", c.Value); !c.Empty && err != nil {
			return nil, err
		}
		if seen[[2]float64{c.X, c.Y}] {
			return nil, bad(at, fmt.Sprintf("(%s, %s) again", show(c.X), show(c.Y)), "every pair once")
		}
		seen[[2]float64{c.X, c.Y}] = true
		f.xs, f.ys = append(f.xs, c.X), append(f.ys, c.Y)
		if !c.Empty {
			f.lo, f.hi = math.Min(f.lo, c.Value), math.Max(f.hi, c.Value)
		}
	}
	slices.Sort(f.xs)
	slices.Sort(f.ys)
	f.xs, f.ys = slices.Compact(f.xs), slices.Compact(f.ys)
	if n := max(len(f.xs), len(f.ys)); n == 0 || n > mostCells {
		return nil, bad("cells", fmt.Sprintf("%d columns, %d rows", len(f.xs), len(f.ys)), fmt.Sprintf("1 to %d of either", mostCells))
	}
	return f, nil
}

// Size implements [Figure].
func (f *heatFigure) Size() (width, height vg.Length) {
	w := max(f.left()+vg.Length(len(f.xs))*cellWidth, 12*vg.Centimeter)
	return w + 2*margin, headerHeight(f.Title, f.header(), w) + vg.Length(len(f.ys))*cellHeight + 38 + 2*margin
}

// header explains the cells.
func (f *heatFigure) header() string {
	parts := []string{f.Label}
	if f.Subtitle != "" {
		parts = []string{f.Subtitle, f.Label}
	}
	for _, k := range []struct {
		has  func(Cell) bool
		text string
	}{
		{func(c Cell) bool { return c.Measured }, "● measured"},
		{func(c Cell) bool { return c.Failed }, "× failed"},
		{func(c Cell) bool { return c.Best }, "framed: the best"},
	} {
		if slices.ContainsFunc(f.Cells, k.has) {
			parts = append(parts, k.text)
		}
	}
	return strings.Join(parts, " · ")
}

// left is the room for the labels of the rows.
func (f *heatFigure) left() vg.Length {
	var w vg.Length
	for _, y := range f.ys {
		w = max(w, tickStyle().Width(number(y)))
	}
	return w + 26
}

// Draw implements [Figure].
func (f *heatFigure) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	top := drawHeader(dc, f.Title, f.header())
	left := dc.Min.X + f.left()
	for _, c := range f.Cells {
		f.drawCell(&dc, c, f.box(c, left, top))
	}
	f.drawLabels(&dc, left, top)
}

// box is where a cell goes; the smallest Y is at the bottom.
func (f *heatFigure) box(c Cell, left, top vg.Length) vg.Rectangle {
	i, _ := slices.BinarySearch(f.xs, c.X)
	k, _ := slices.BinarySearch(f.ys, c.Y)
	min := vg.Point{X: left + vg.Length(i)*cellWidth, Y: top - vg.Length(len(f.ys)-k)*cellHeight}
	return vg.Rectangle{Min: min, Max: vg.Point{X: min.X + cellWidth - 1, Y: min.Y + cellHeight - 1}}
}

func (f *heatFigure) drawCell(dc *draw.Canvas, c Cell, r vg.Rectangle) {
	col := idleColor
	if !c.Empty {
		col = f.shade(c.Value)
	}
	fillRect(dc, col, r)
	sty := keyStyle()
	if sty.Color = textOn(col); sty.Color == whiteColor {
		sty.Color = lightTextColor
	}
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YCenter
	mid := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y+r.Max.Y)/2 + textRise}
	dot := draw.GlyphStyle{Color: sty.Color, Radius: 1.6, Shape: draw.CircleGlyph{}}
	if c.Empty {
		dot.Color = mutedColor // which every theme sets off from an empty cell
	}
	if c.Failed {
		dot.Radius, dot.Shape = 2.4, crossGlyph{}
	}
	if c.Measured || c.Failed {
		dc.DrawGlyphNoClip(dot, vg.Point{X: r.Min.X + 5, Y: r.Max.Y - 5})
	}
	if !c.Empty {
		dc.FillText(sty, mid, number(c.Value))
	}
	rim := []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
	if c.Best {
		dc.StrokeLines(draw.LineStyle{Color: palette[1], Width: 2}, rim)
	}
}

// shade is the colour of a value.
func (f *heatFigure) shade(v float64) color.NRGBA {
	share := 1.0
	if f.hi > f.lo {
		share = math.Log(v/f.lo) / math.Log(f.hi/f.lo)
	}
	c := tint(palette[0], 0.9*(1-share))
	c.B++ // a step off the palette: the scale means the same in every theme
	return c
}

func (f *heatFigure) drawLabels(dc *draw.Canvas, left, top vg.Length) {
	sty := tickStyle()
	sty.XAlign, sty.YAlign = draw.XRight, draw.YCenter
	bottom := top - vg.Length(len(f.ys))*cellHeight
	for k, y := range f.ys {
		dc.FillText(sty, vg.Point{X: left - 5, Y: bottom + (vg.Length(k)+0.5)*cellHeight + textRise}, number(y))
	}
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YTop
	for i, x := range f.xs {
		dc.FillText(sty, vg.Point{X: left + (vg.Length(i)+0.5)*cellWidth, Y: bottom - 4}, number(x))
	}
	label := axisStyle()
	label.XAlign, label.YAlign = draw.XCenter, draw.YTop
	dc.FillText(label, vg.Point{X: left + vg.Length(len(f.xs))*cellWidth/2, Y: bottom - 18}, f.XLabel)
	label.Rotation = math.Pi / 2
	dc.FillText(label, vg.Point{X: dc.Min.X, Y: (bottom + top) / 2}, f.YLabel)
}

// Spots implements [Pointable].
func (f *heatFigure) Spots() []Spot {
	w, h := f.Size()
	left := margin + f.left()
	top := h - margin - headerHeight(f.Title, f.header(), w-2*margin)
	var out []Spot
	for _, c := range f.Cells {
		r := f.box(c, left, top)
		if c.Empty {
			continue
		}
		what := "predicted"
		if c.Measured {
			what = "measured"
		}
		out = append(out, Spot{X: (r.Min.X + r.Max.X) / 2, Y: h - (r.Min.Y+r.Max.Y)/2,
			Text: fmt.Sprintf("%s, %s\n%s %s: %s", amount(c.X, f.XLabel), amount(c.Y, f.YLabel), what, f.Label, number(c.Value))})
	}
	return out
}
