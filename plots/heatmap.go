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

	"knee/data"
	"knee/internal/grouped"
	"knee/predict"
)

// heatMap describes a quantity over two knobs.
type heatMap struct {
	Title, Subtitle string
	XLabel, YLabel  string // names of the knobs
	Label           string // of the quantity, with its unit
	Cells           []cell // in any order, each pair (X, Y) at most once
}

// cell is the value of one configuration.
type cell struct {
	X, Y     float64
	Value    float64
	Measured bool // dotted: not a prediction
	Beyond   bool // with a question mark: extrapolated
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

// NewHeatMap draws the speed at the expected step time over tensor and pipeline parallelism,
// at the best micro-batch, sharding and recomputation.
func NewHeatMap(p *predict.Predictor, q predict.LayoutQuestion) (*Chart, error) {
	q.Unfit = true
	all, err := p.Layouts(q)
	if err != nil {
		return nil, err
	}
	h := heatMap{Title: "Layouts of " + p.Model.Job(), Subtitle: fmt.Sprintf("%d × %s, %g samples per step", q.Workers, cmp.Or(q.GPUType, "GPU"), p.LayoutBatch(q)),
		XLabel: "tensor-parallel degree", YLabel: "pipeline stages", Label: "samples/s at the expected step time"}
	degrees := func(c data.Config) [2]float64 { return [2]float64{float64(max(c.TP, 1)), float64(max(c.PP, 1))} }
	measured := map[[2]float64]bool{}
	for _, m := range p.Model.Layouts(q.GPUType) {
		if m.Workers == q.Workers {
			measured[degrees(m.Config)] = true
		}
	}
	pairs, of := grouped.By(all, func(a predict.LayoutAnswer) [2]float64 { return degrees(a.Config) })
	fits := func(a predict.LayoutAnswer) bool { return a.Unfit() == "" }
	best := slices.IndexFunc(all, fits) // in the order of P(fits) / time
	if best < 0 {                       // as the error says
		q.Unfit = false
		_, err = p.Layouts(q)
		return nil, err
	}
	for _, at := range pairs {
		c := cell{X: at[0], Y: at[1], Failed: true}
		if i := slices.IndexFunc(of[at], fits); i >= 0 {
			c.Failed, c.Measured, c.Best = false, measured[at], at == degrees(all[best].Config)
			c.Beyond = of[at][i].Extrapolated
			c.Value = of[at][i].Config.GlobalBatch() / of[at][i].Expected
		}
		h.Cells = append(h.Cells, c)
	}
	return h.draw()
}

// draw draws a cell per configuration, the darker the larger the logarithm of its value.
func (h heatMap) draw() (*Chart, error) {
	var xs, ys []float64
	values := newExtent()
	for i, c := range h.Cells {
		xs, ys = append(xs, c.X), append(ys, c.Y)
		if c.Failed {
			continue
		}
		if err := positive(fmt.Sprintf("cells[%d].value", i), c.Value); err != nil {
			return nil, err
		}
		values.add(c.Value)
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
	for _, at := range h.Cells {
		i, _ := slices.BinarySearch(xs, at.X)
		k, _ := slices.BinarySearch(ys, at.Y)
		c.add(tile(at, float64(i), float64(k), heatColor(at, values)))
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
func (h heatMap) subtitle() string {
	parts := slices.DeleteFunc([]string{h.Subtitle, h.Label}, func(s string) bool { return s == "" })
	for _, k := range []struct {
		has  func(cell) bool
		text string
	}{
		{func(c cell) bool { return c.Measured }, "● measured"},
		{func(c cell) bool { return c.Beyond }, "? extrapolated"},
		{func(c cell) bool { return c.Failed }, "× does not fit"},
		{func(c cell) bool { return c.Best }, "framed: highest speed × probability of fitting"},
	} {
		if slices.ContainsFunc(h.Cells, k.has) {
			parts = append(parts, k.text)
		}
	}
	return strings.Join(parts, " · ")
}

// heatColor is the colour of a cell among all values.
func heatColor(c cell, values extent) color.NRGBA {
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
func tile(at cell, column, row float64, fill color.NRGBA) layer {
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
		case at.Failed: // in a colour that is visible on light and dark pages
			f.DrawGlyphNoClip(draw.GlyphStyle{Color: mutedColor, Radius: 2.4, Shape: crossGlyph{}}, corner)
		case at.Measured:
			f.DrawGlyphNoClip(draw.GlyphStyle{Color: sty.Color, Radius: 1.6, Shape: draw.CircleGlyph{}}, corner)
		}
		if !at.Failed {
			text := Number(at.Value)
			if at.Beyond {
				text += " ?"
			}
			f.FillText(sty, middle(r).Add(vg.Point{Y: textRise}), text)
		}
		if at.Best {
			rim := []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min}
			f.StrokeLines(draw.LineStyle{Color: palette[1], Width: 2}, rim)
		}
	}
}
