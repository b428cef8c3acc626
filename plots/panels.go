package plots

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panels is several charts side by side under one header.
type Panels struct {
	Title, Subtitle string
	Charts          []*Chart // left to right; their titles name the panels
}

// panelWidth is the width of one panel: two fill a page.
const panelWidth = 11.5 * vg.Centimeter

// newPanels puts charts side by side.
func newPanels(title, subtitle string, charts ...*Chart) *Panels {
	for _, c := range charts {
		c.Width = panelWidth
	}
	return &Panels{title, subtitle, charts}
}

// Size implements [Figure].
func (p *Panels) Size() (width, height vg.Length) {
	for _, c := range p.Charts {
		w, h := c.Size()
		width, height = width+w, max(height, h)
	}
	return width, height + p.header(width)
}

// header is the height of the common header with the margin above it; below
// it the charts have their own.
func (p *Panels) header(width vg.Length) vg.Length {
	return margin + headerHeight(p.Title, p.Subtitle, width-2*margin)
}

// Draw implements [Figure].
func (p *Panels) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	drawHeader(draw.Crop(dc, margin, -margin, margin, -margin), p.Title, p.Subtitle)
	dc.Max.Y -= p.header(dc.Size().X)
	drawBeside(dc, p.Charts, func(c *Chart) vg.Length { return c.Width })
}

// drawBeside draws parts from left to right, each as wide as it says.
func drawBeside[T interface{ Draw(draw.Canvas) }](dc draw.Canvas, parts []T, width func(T) vg.Length) {
	for _, p := range parts {
		at := dc
		at.Max.X = at.Min.X + width(p)
		p.Draw(at)
		dc.Min.X = at.Max.X
	}
}

// Spots implements [Pointable].
func (p *Panels) Spots() []Spot {
	width, height := p.Size()
	top := p.header(width)
	var out []Spot
	var left vg.Length
	for _, c := range p.Charts {
		size := vg.Point{X: c.Width, Y: height - top}
		for _, s := range c.spotsIn(size) {
			out = append(out, Spot{X: left + s.X, Y: top + s.Y, Text: s.Text})
		}
		left += c.Width
	}
	return out
}
