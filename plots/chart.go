package plots

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// Chart is a figure with two axes. The New functions make it; its Plot may
// be adjusted (ranges, ticks) before it is saved.
type Chart struct {
	Title, Subtitle string
	XLabel, YLabel  string // of the axes, with units
	Width, Height   vg.Length
	Plot            *plot.Plot // ranges, scales and ticks of the axes; the chart draws the rest

	background  []layer // below the grid
	layers      []layer // back to front
	annotations []annotation
	legend      legend
	tooltips    []tooltip // shown under the pointer
	xGrid       bool      // vertical grid lines as well
	noGrid      bool
}

// newChart returns an empty chart in the theme.
func newChart(title, subtitle, xLabel, yLabel string) *Chart {
	p := plot.New()
	p.BackgroundColor = nil // the chart paints it, below the grid
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle = draw.LineStyle{Color: axisColor, Width: thinWidth}
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 4
		a.Padding = 0
		label, sty := &a.Tick.Label, tickStyle() // with the alignments of gonum/plot
		label.Font, label.Color, label.Handler = sty.Font, sty.Color, sty.Handler
	}
	return &Chart{
		Title: title, Subtitle: subtitle, XLabel: xLabel, YLabel: yLabel,
		Width: DefaultWidth, Height: DefaultHeight, Plot: p,
	}
}

// Size implements [Figure]. The data get at least a quarter of the height, and the label
// of the vertical axis fits below header and legend.
func (c *Chart) Size() (width, height vg.Length) {
	tall := c.Height + 100*vg.Centimeter // the rest takes as much at any height
	dc := draw.NewCanvas(&recorder.Canvas{}, c.Width, tall)
	rest, above := tall-c.frame(dc).Size().Y, tall-c.body(dc).Size().Y
	return c.Width, max(c.Height, rest*4/3, above+axisStyle().Width(c.YLabel))
}

// body is where the axes and their labels go: below header and legend.
func (c *Chart) body(dc draw.Canvas) draw.Canvas {
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	dc.Max.Y -= headerHeight(c.Title, c.Subtitle, dc.Size().X) + c.legend.height(dc.Size().X)
	return dc
}

// frame returns the part of the chart's canvas that shows data.
func (c *Chart) frame(dc draw.Canvas) *frame {
	return &frame{Canvas: c.Plot.DataCanvas(c.axesCanvas(c.body(dc))), plot: c.Plot}
}

// Draw implements [Figure].
func (c *Chart) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	head := draw.Crop(dc, margin, -margin, margin, -margin)
	head.Max.Y = drawHeader(head, c.Title, c.Subtitle)
	c.legend.draw(head)
	f, body := c.frame(dc), c.body(dc)
	for _, draw := range c.background {
		draw(f)
	}
	c.drawGrid(f)
	c.Plot.Draw(c.axesCanvas(body))
	c.drawAxisLabels(f, body)
	for _, draw := range c.layers {
		draw(f)
	}
	c.annotate(f)
}

// add adds layers on top.
func (c *Chart) add(layers ...layer) { c.layers = append(c.layers, layers...) }

// explain adds entries to the legend.
func (c *Chart) explain(entries ...entry) { c.legend = append(c.legend, entries...) }

// axesCanvas leaves room for the axis labels: gonum/plot centres them by value, on a
// logarithmic axis far off the middle.
func (c *Chart) axesCanvas(body draw.Canvas) draw.Canvas {
	h := axisStyle().FontExtents().Height
	if c.YLabel != "" {
		body.Min.X += h + 7
	}
	if c.XLabel != "" {
		body.Min.Y += h + 2
	}
	return body
}

// drawAxisLabels writes the labels along the edges of the body, centred on the data.
func (c *Chart) drawAxisLabels(f *frame, body draw.Canvas) {
	sty := axisStyle()
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YBottom
	mid := f.Center()
	body.FillText(sty, vg.Point{X: mid.X, Y: body.Min.Y}, c.XLabel)
	sty.Rotation = math.Pi / 2
	sty.YAlign = draw.YTop
	half := sty.Width(c.YLabel) / 2
	body.FillText(sty, vg.Point{X: body.Min.X, Y: within(mid.Y, body.Min.Y+half, body.Max.Y-half)}, c.YLabel)
}

// drawGrid draws a line at every tick, unless the vertical axis has names, not numbers.
func (c *Chart) drawGrid(f *frame) {
	if c.YLabel == "" || c.noGrid {
		return
	}
	grid := plotter.Grid{Horizontal: draw.LineStyle{Color: gridColor, Width: 0.6}}
	if c.xGrid {
		grid.Vertical = grid.Horizontal
	}
	grid.Plot(f.Canvas, c.Plot)
}

// drawHeader writes title and subtitle and returns the y below them.
func drawHeader(c draw.Canvas, title, subtitle string) vg.Length {
	y := c.Max.Y
	write := func(words string, sty text.Style) {
		for _, row := range wrap(words, sty, c.Size().X) {
			c.FillText(sty, vg.Point{X: c.Min.X, Y: y}, row)
			y -= sty.FontExtents().Height + lineGap
		}
	}
	write(title, titleStyle())
	write(subtitle, style(9, mutedColor))
	return y - lineGap
}

// headerHeight returns the height that drawHeader takes.
func headerHeight(title, subtitle string, width vg.Length) vg.Length {
	c := draw.NewCanvas(&recorder.Canvas{}, width, 0)
	return c.Max.Y - drawHeader(c, title, subtitle)
}

// wrap breaks a text at spaces into rows of at most the width, and wider words anywhere.
func wrap(s string, sty text.Style, width vg.Length) []string {
	var rows []string
	for _, word := range strings.Fields(s) {
		if n := len(rows) - 1; n >= 0 && sty.Width(rows[n]+" "+word) <= width {
			rows[n] += " " + word
			continue
		}
		row := ""
		for _, letter := range word {
			if row != "" && sty.Width(row+string(letter)) > width {
				rows, row = append(rows, row), ""
			}
			row += string(letter)
		}
		rows = append(rows, row)
	}
	return rows
}

// Panels is charts under one header: side by side, or in rows with one horizontal axis.
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
			_, h := c.Size()
			c.Width, c.Height = width, h*(height-head)/(all-was0)
		} else {
			c.Width, c.Height = c.Width*width/was, height-head
		}
	}
}

// header is the height of the common header, with the margin above it.
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

// places divides a canvas among the charts; axes of rows stand above one another.
func (p *Panels) places(dc draw.Canvas) []draw.Canvas {
	dc.Max.Y -= p.header(dc.Size().X)
	var out []draw.Canvas
	var left vg.Length
	for _, c := range p.Charts {
		at := dc
		if p.Rows {
			_, height := c.Size()
			at.Min.Y = at.Max.Y - height
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
