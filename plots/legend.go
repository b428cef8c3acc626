package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"knee/internal/list"
)

// entry is one row of a legend: a sample and what it stands for. The sample
// is drawn back to front: fill, line, glyph; zero leaves a part out.
type entry struct {
	label string
	fill  color.Color
	line  draw.LineStyle
	glyph draw.GlyphStyle
}

// sampleWidth is the width of the sample: a lone text takes none, not even the gap.
func (e entry) sampleWidth() vg.Length {
	switch lone := e.line.Width == 0 && e.fill == nil; {
	case lone && e.glyph.Shape == nil:
		return -swatchGap
	case lone:
		return swatchWidth / 2
	}
	return swatchWidth
}

// draw draws the entry from x to the right, its row below top.
func (e entry) draw(c *draw.Canvas, x, top vg.Length) {
	width, y := e.sampleWidth(), top-rowHeight()/2
	if e.fill != nil {
		fillRect(c, e.fill, vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + width, Y: y + 4}})
	}
	if e.line.Width > 0 {
		c.StrokeLine2(e.line, x, y, x+width, y)
	}
	if e.glyph.Shape != nil {
		c.DrawGlyphNoClip(e.glyph, vg.Point{X: x + width/2, Y: y})
	}
	sty := keyStyle()
	sty.YAlign = draw.YCenter
	c.FillText(sty, vg.Point{X: x + width + swatchGap, Y: y + textRise}, e.label)
}

// legend is the list of entries, which stand in rows above the data.
type legend []entry

// rowHeight is the height of one legend row.
func rowHeight() vg.Length { return keyStyle().FontExtents().Height + lineGap }

// rows breaks the legend into rows of at most the width.
func (l legend) rows(width vg.Length) [][]entry {
	var rows [][]entry
	var used vg.Length
	for _, e := range l {
		e.label = fitLabel(keyStyle(), e.label, width-e.sampleWidth()-swatchGap)
		w := e.sampleWidth() + swatchGap + keyStyle().Width(e.label)
		if len(rows) == 0 || used+keyGap+w > width {
			rows = append(rows, nil)
			used = -keyGap
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += keyGap + w
	}
	return rows
}

// height is what the rows take, with the gap below them.
func (l legend) height(width vg.Length) vg.Length {
	if len(l) == 0 {
		return 0
	}
	return vg.Length(len(l.rows(width)))*rowHeight() + lineGap
}

// draw draws the rows at the top of the canvas.
func (l legend) draw(c draw.Canvas) {
	for i, row := range l.rows(c.Size().X) {
		x := c.Min.X
		for _, e := range row {
			e.draw(&c, x, c.Max.Y-vg.Length(i)*rowHeight())
			x += e.sampleWidth() + swatchGap + keyStyle().Width(e.label) + keyGap
		}
	}
}

// annotation is a text beside a data point.
type annotation struct {
	x, y  float64
	text  string
	color color.Color
}

// ink is a canvas that keeps points of what is drawn on it, a few points apart.
type ink struct {
	recorder.Canvas
	points []vg.Point
}

func (c *ink) Stroke(p vg.Path) {
	const spacing = 3
	for i, to := range p {
		if i > 0 && to.Type == vg.LineComp {
			from := p[i-1].Pos
			n := int(math.Hypot(float64(to.Pos.X-from.X), float64(to.Pos.Y-from.Y)) / spacing)
			for k := 1; k <= n; k++ {
				t := vg.Length(k) / vg.Length(n+1)
				c.points = append(c.points, vg.Point{X: from.X + t*(to.Pos.X-from.X), Y: from.Y + t*(to.Pos.Y-from.Y)})
			}
		}
		c.points = append(c.points, to.Pos)
		if r := to.Radius; r > 0 { // a marker
			c.points = append(c.points, to.Pos.Add(vg.Point{X: r}), to.Pos.Add(vg.Point{X: -r}), to.Pos.Add(vg.Point{Y: r}), to.Pos.Add(vg.Point{Y: -r}))
		}
	}
}

// Fill implements [vg.Canvas]: a text may stand on a band, but not on its edge.
func (c *ink) Fill(p vg.Path) { c.Stroke(p) }

// annotate writes each annotation where it covers least of the drawing, beside earlier ones.
func (c *Chart) annotate(f *frame) {
	if len(c.annotations) == 0 {
		return
	}
	var under ink
	on := *f
	on.Canvas.Canvas = &under
	for _, draw := range c.layers {
		draw(&on)
	}
	var written []vg.Rectangle
	for _, n := range c.annotations {
		sty := bold(keyStyle())
		sty.Color, sty.YAlign = n.color, draw.YCenter
		boxes := around(f.at(n.x, n.y), sty.Rectangle(n.text).Size(), f.Rectangle)
		if free := slices.DeleteFunc(slices.Clone(boxes), func(b vg.Rectangle) bool {
			return slices.ContainsFunc(written, func(w vg.Rectangle) bool { return overlap(b, grow(w, 3)) })
		}); len(free) > 0 {
			boxes = free
		}
		box, covered := emptiest(boxes, under.points)
		if covered > 0 { // a translucent ground keeps it legible
			fillRect(&f.Canvas, fade(whiteColor, 0.75), grow(box, 1.5))
		}
		f.FillText(sty, vg.Point{X: box.Min.X, Y: (box.Min.Y + box.Max.Y) / 2}, n.text)
		written = append(written, box)
	}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// around returns boxes in eight directions from a point, near first, inside the frame.
func around(at, size vg.Point, frame vg.Rectangle) []vg.Rectangle {
	const inset = 3
	var boxes []vg.Rectangle
	for _, d := range []vg.Length{7, 14, 24, 36, 60, 90} {
		for _, dir := range []vg.Point{
			{X: 1, Y: 0}, {X: 1, Y: -1}, {X: 1, Y: 1}, {X: -1, Y: 1}, {X: -1, Y: -1}, {X: -1, Y: 0}, {X: 0, Y: 1}, {X: 0, Y: -1},
		} {
			min := vg.Point{X: at.X + dir.X*(d+size.X/2) - size.X/2, Y: at.Y + dir.Y*(d+size.Y/2) - size.Y/2}
			min.X = within(min.X, frame.Min.X+inset, frame.Max.X-inset-size.X)
			min.Y = within(min.Y, frame.Min.Y+inset, frame.Max.Y-inset-size.Y)
			boxes = append(boxes, vg.Rectangle{Min: min, Max: min.Add(size)})
		}
	}
	return boxes
}

func within(v, lo, hi vg.Length) vg.Length { return max(lo, min(hi, v)) }

// emptiest returns the first rectangle with the least ink inside or next to it.
func emptiest(candidates []vg.Rectangle, ink []vg.Point) (best vg.Rectangle, covered int) {
	covered = math.MaxInt
	for _, r := range candidates {
		wide := grow(r, 2)
		n := list.Count(ink, func(p vg.Point) bool {
			return p.X >= wide.Min.X && p.X <= wide.Max.X && p.Y >= wide.Min.Y && p.Y <= wide.Max.Y
		})
		if n < covered {
			best, covered = r, n
		}
	}
	return best, covered
}
