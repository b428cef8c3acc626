package plots

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a figure with two axes. The New functions make it; its Plot may
// be adjusted (ranges, ticks) before it is saved.
type Chart struct {
	Title, Subtitle string
	XLabel, YLabel  string // of the axes, with units
	Width, Height   vg.Length
	Plot            *plot.Plot // ranges, scales and ticks of the axes; the chart draws the rest

	layers      []layer // back to front
	annotations []annotation
	legend      legend
	tooltips    []tooltip // what a pointer finds
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
	}
	// The alignments inside the axes are those of gonum/plot.
	setFont(&p.X.Tick.Label, tickStyle())
	setFont(&p.Y.Tick.Label, tickStyle())
	return &Chart{
		Title: title, Subtitle: subtitle, XLabel: xLabel, YLabel: yLabel,
		Width: DefaultWidth, Height: DefaultHeight, Plot: p,
	}
}

// setFont changes the face and colour of a style but not its alignment.
func setFont(s *text.Style, to text.Style) {
	s.Font, s.Color, s.Handler = to.Font, to.Color, to.Handler
}

// Size implements [Figure].
func (c *Chart) Size() (width, height vg.Length) { return c.Width, c.Height }

// layout is where the parts of a chart go on a canvas.
type layout struct {
	dc     draw.Canvas // without the margin
	body   draw.Canvas // below header and legend strip
	top    vg.Length   // the foot of the header
	frame  *frame
	places []place // of the notes
	corner vg.Rectangle
	fits   bool // the legend goes into the corner, else above the body
}

// layout finds the place of every part. It draws nothing.
func (c *Chart) layout(dc draw.Canvas) layout {
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	l := layout{dc: dc, body: dc, top: dc.Max.Y - headerHeight(c.Title, c.Subtitle, dc.Size().X)}
	l.body.Max.Y = l.top
	l.frame = c.frame(l.body)
	l.places, l.corner, l.fits = c.arrange(l.frame)
	if !l.fits {
		l.body.Max.Y = l.top - c.legend.stripHeight(dc.Size().X) - lineGap
		l.frame = c.frame(l.body)
		l.places, _, _ = c.arrange(l.frame)
	}
	return l
}

// Draw implements [Figure].
func (c *Chart) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	l := c.layout(dc)
	drawHeader(l.dc, c.Title, c.Subtitle)
	if !l.fits {
		c.legend.drawStrip(&dc, l.dc.Min.X, l.top, l.dc.Size().X)
	}
	f := l.frame
	for _, m := range c.layers {
		if z, ok := m.(zone); ok {
			z.draw(f)
		}
	}
	c.drawGrid(f)
	c.Plot.Draw(c.axesCanvas(l.body))
	c.drawAxisLabels(f, l.body)
	for _, m := range c.layers {
		if _, ok := m.(zone); !ok {
			m.draw(f)
		}
	}
	for i, n := range c.annotations {
		n.draw(f, l.places[i])
	}
	if l.fits && len(c.legend) > 0 {
		c.legend.drawBox(&f.Canvas, l.corner)
	}
}

// frame returns where the data go when the axes fill the body.
func (c *Chart) frame(body draw.Canvas) *frame {
	return &frame{Canvas: c.Plot.DataCanvas(c.axesCanvas(body)), plot: c.Plot}
}

// axesCanvas leaves room for the axis labels. The chart writes them itself:
// gonum/plot centres them by value, which on a logarithmic axis is far off
// the middle.
func (c *Chart) axesCanvas(body draw.Canvas) draw.Canvas {
	h := axisStyle().FontExtents().Height
	left, bottom := h+7, h+2
	if c.YLabel == "" {
		left = 0
	}
	if c.XLabel == "" {
		bottom = 0
	}
	return draw.Crop(body, left, 0, bottom, 0)
}

// drawAxisLabels writes the labels along the edges of the body, centred on
// the data.
func (c *Chart) drawAxisLabels(f *frame, body draw.Canvas) {
	sty := axisStyle()
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YBottom
	mid := f.Center()
	body.FillText(sty, vg.Point{X: mid.X, Y: body.Min.Y}, c.XLabel)
	sty.Rotation = math.Pi / 2
	sty.YAlign = draw.YTop
	body.FillText(sty, vg.Point{X: body.Min.X, Y: mid.Y}, c.YLabel)
}

// arrange finds the places of the notes and a corner for the legend; fits is
// false if the legend would cover ink in every corner.
func (c *Chart) arrange(f *frame) (places []place, corner vg.Rectangle, fits bool) {
	var ink []vg.Point
	for _, m := range c.layers {
		ink = append(ink, m.ink(f)...)
	}
	for _, n := range c.annotations {
		p := n.place(f, ink)
		places = append(places, p)
		ink = append(ink, outline(p.box)...)
	}
	candidates := corners(f.Rectangle, c.legend.box())
	wide := make([]vg.Rectangle, len(candidates))
	for i, r := range candidates {
		wide[i] = grow(r, 4)
	}
	best, covered := emptiest(wide, ink)
	size := c.legend.box()
	small := size.X < f.Size().X/2 && size.Y < f.Size().Y*0.6
	return places, candidates[best], covered == 0 && small
}

// drawGrid draws a line at every labelled tick of a quantity; what is named
// instead needs none.
func (c *Chart) drawGrid(f *frame) {
	if c.YLabel == "" || c.noGrid {
		return
	}
	sty := draw.LineStyle{Color: gridColor, Width: 0.6}
	for _, t := range c.Plot.Y.Tick.Marker.Ticks(c.Plot.Y.Min, c.Plot.Y.Max) {
		if y := f.y(t.Value); f.ContainsY(y) {
			f.StrokeLine2(sty, f.Min.X, y, f.Max.X, y)
		}
	}
	if !c.xGrid {
		return
	}
	for _, t := range c.Plot.X.Tick.Marker.Ticks(c.Plot.X.Min, c.Plot.X.Max) {
		if x := f.x(t.Value); f.ContainsX(x) {
			f.StrokeLine2(sty, x, f.Min.Y, x, f.Max.Y)
		}
	}
}

// drawHeader writes title and subtitle and returns the y below them.
func drawHeader(c draw.Canvas, title, subtitle string) vg.Length {
	y := c.Max.Y
	for _, part := range []struct {
		text  string
		style text.Style
	}{{title, titleStyle()}, {subtitle, subtitleStyle()}} {
		for _, row := range wrap(part.text, part.style, c.Size().X) {
			c.FillText(part.style, vg.Point{X: c.Min.X, Y: y}, row)
			y -= part.style.FontExtents().Height + lineGap
		}
	}
	return y - lineGap
}

// headerHeight returns the height that drawHeader takes.
func headerHeight(title, subtitle string, width vg.Length) vg.Length {
	h := lineGap
	for range wrap(title, titleStyle(), width) {
		h += titleStyle().FontExtents().Height + lineGap
	}
	for range wrap(subtitle, subtitleStyle(), width) {
		h += subtitleStyle().FontExtents().Height + lineGap
	}
	return h
}

// wrap breaks a text at spaces into rows of at most the width; a single word
// may be wider.
func wrap(s string, sty text.Style, width vg.Length) []string {
	var rows []string
	for _, word := range strings.Fields(s) {
		if n := len(rows) - 1; n >= 0 && sty.Width(rows[n]+" "+word) <= width {
			rows[n] += " " + word
		} else {
			rows = append(rows, word)
		}
	}
	return rows
}
