package plots

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// Panels is several charts under one header: side by side, or in rows that
// share their horizontal axis.
type Panels struct {
	Title, Subtitle string
	Charts          []*Chart // left to right, or top to bottom; their titles name the panels
	Rows            bool
}

// panelWidth is the width of one panel: two fill a page.
const panelWidth = 11.5 * vg.Centimeter

// newPanels puts charts side by side.
func newPanels(title, subtitle string, charts ...*Chart) *Panels {
	for _, c := range charts {
		c.Width = panelWidth
	}
	return &Panels{title, subtitle, charts, false}
}

// Size implements [Figure].
func (p *Panels) Size() (width, height vg.Length) {
	for _, c := range p.Charts {
		w, h := c.Size()
		if p.Rows {
			width, height = max(width, w), height+h
		} else {
			width, height = width+w, max(height, h)
		}
	}
	return width, height + p.header(width)
}

// resize gives every panel its share of a size.
func (p *Panels) resize(width, height vg.Length) {
	was, all := p.Size()
	head, was0 := p.header(width), p.header(was)
	for _, c := range p.Charts {
		if p.Rows {
			c.Width, c.Height = width, c.Height*(height-head)/(all-was0)
		} else {
			c.Width, c.Height = c.Width*width/was, height-head
		}
	}
}

// header is the height of the common header with the margin above it; below it
// the charts have their own.
func (p *Panels) header(width vg.Length) vg.Length {
	if p.Title == "" && p.Subtitle == "" {
		return 0
	}
	return margin + headerHeight(p.Title, p.Subtitle, width-2*margin)
}

// Draw implements [Figure].
func (p *Panels) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	drawHeader(draw.Crop(dc, margin, -margin, margin, -margin), p.Title, p.Subtitle)
	for i, at := range p.places(dc) {
		p.Charts[i].Draw(at)
	}
}

// places divides a canvas among the charts. Rows begin where the widest labels
// leave room, so that their axes stand above one another.
func (p *Panels) places(dc draw.Canvas) []draw.Canvas {
	dc.Max.Y -= p.header(dc.Size().X)
	var out []draw.Canvas
	var left vg.Length
	for _, c := range p.Charts {
		at := dc
		if p.Rows {
			at.Min.Y = at.Max.Y - c.Height
			dc.Max.Y = at.Min.Y
			left = max(left, c.frame(at).Min.X)
		} else {
			at.Max.X = at.Min.X + c.Width
			dc.Min.X = at.Max.X
		}
		out = append(out, at)
	}
	for i, c := range p.Charts {
		if p.Rows {
			out[i].Min.X += left - c.frame(out[i]).Min.X
		}
	}
	return out
}

// Tooltips implements [Figure].
func (p *Panels) Tooltips() []Tooltip {
	width, height := p.Size()
	var out []Tooltip
	for i, at := range p.places(draw.NewCanvas(&recorder.Canvas{}, width, height)) {
		for _, s := range p.Charts[i].tooltipsIn(at.Size()) {
			out = append(out, Tooltip{X: at.Min.X + s.X, Y: height - at.Max.Y + s.Y, Text: s.Text})
		}
	}
	return out
}
