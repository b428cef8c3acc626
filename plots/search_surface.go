package plots

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Surface describes what a search believes over two knobs, everything else as
// in the best configuration so far, and what it would gain where.
type Surface struct {
	Title, Subtitle string
	XLabel, YLabel  string // names of the knobs
	Objective       string // with its unit
	GainLabel       string // with its unit, such as "expected gain (%)"
	Cells           []SurfaceCell
}

// SurfaceCell is one configuration.
type SurfaceCell struct {
	X, Y       float64
	Mean       float64 // believed, of the objective; > 0
	Gain       float64 // expected improvement over the best, ≥ 0; ignored for what was tried
	Tried      bool
	Failed     bool // it was tried, and gave no value
	Best, Next bool
}

// surfaceFigure is two heat maps side by side.
type surfaceFigure struct {
	title, subtitle string
	maps            [2]*heatFigure
}

// NewSurface draws the belief in one panel and the gain in the other, which has
// no value for what was tried already. Errors name the first cell that cannot
// be drawn.
func NewSurface(s Surface) (Figure, error) {
	belief := HeatMap{Title: "Believed", XLabel: s.XLabel, YLabel: s.YLabel, Label: s.Objective}
	gain := HeatMap{Title: "To be gained", XLabel: s.XLabel, YLabel: s.YLabel, Label: s.GainLabel, Linear: true}
	for i, c := range s.Cells {
		if c.Failed && !c.Tried {
			return nil, bad(fmt.Sprintf("cells[%d]", i), "a failure of what was not tried", "tried, where it failed")
		}
		belief.Cells = append(belief.Cells, Cell{X: c.X, Y: c.Y, Value: c.Mean, Measured: c.Tried && !c.Failed, Failed: c.Failed, Best: c.Best, Next: c.Next})
		gain.Cells = append(gain.Cells, Cell{X: c.X, Y: c.Y, Value: c.Gain, Empty: c.Tried, Measured: c.Tried && !c.Failed, Failed: c.Failed, Best: c.Best, Next: c.Next})
	}
	f := &surfaceFigure{title: s.Title, subtitle: s.Subtitle}
	for i, h := range []HeatMap{belief, gain} {
		m, err := NewHeatMap(h)
		if err != nil {
			return nil, err
		}
		f.maps[i] = m.(*heatFigure)
	}
	return f, nil
}

// header is the height of the common header with the margin above it.
func (f *surfaceFigure) header(width vg.Length) vg.Length {
	return margin + headerHeight(f.title, f.subtitle, width-2*margin)
}

// Size implements [Figure].
func (f *surfaceFigure) Size() (width, height vg.Length) {
	for _, m := range f.maps {
		w, h := m.Size()
		width, height = width+w, max(height, h)
	}
	return width, height + f.header(width)
}

// Draw implements [Figure].
func (f *surfaceFigure) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	drawHeader(draw.Crop(dc, margin, -margin, margin, -margin), f.title, f.subtitle)
	dc.Max.Y -= f.header(dc.Size().X)
	drawBeside(dc, f.maps[:], func(m *heatFigure) vg.Length { w, _ := m.Size(); return w })
}

// Spots implements [Pointable].
func (f *surfaceFigure) Spots() []Spot {
	width, _ := f.Size()
	top := f.header(width)
	var out []Spot
	var left vg.Length
	for _, m := range f.maps {
		for _, s := range m.Spots() {
			out = append(out, Spot{X: left + s.X, Y: top + s.Y, Text: s.Text})
		}
		w, _ := m.Size()
		left += w
	}
	return out
}
