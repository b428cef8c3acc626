package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is one row of a legend: a sample and what it stands for. The sample
// is drawn back to front: fill, line, glyph; nil leaves a part out.
type entry struct {
	label string
	fill  color.Color
	line  *draw.LineStyle
	glyph *draw.GlyphStyle
}

// drawSwatch draws the sample into the rectangle.
func (e entry) drawSwatch(c *draw.Canvas, r vg.Rectangle) {
	mid := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	if e.fill != nil {
		fillRect(c, e.fill, vg.Rectangle{Min: vg.Point{X: r.Min.X, Y: mid.Y - 4}, Max: vg.Point{X: r.Max.X, Y: mid.Y + 4}})
	}
	if e.line != nil {
		c.StrokeLine2(*e.line, r.Min.X, mid.Y, r.Max.X, mid.Y)
	}
	if e.glyph != nil {
		c.DrawGlyphNoClip(*e.glyph, mid)
	}
}

// legend is the list of entries.
type legend []entry

// rowHeight is the height of one legend row.
func rowHeight() vg.Length { return keyStyle().FontExtents().Height + lineGap }

// entryWidth is the width of one entry, sample included.
func entryWidth(e entry) vg.Length { return swatchWidth + swatchGap + keyStyle().Width(e.label) }

// sampleWidth is the width of a sample in a strip, where samples need not
// line up: a lone glyph takes little.
func sampleWidth(e entry) vg.Length {
	if e.line == nil && e.fill == nil {
		return swatchWidth / 2
	}
	return swatchWidth
}

// box returns the size of the legend as a column.
func (l legend) box() vg.Point {
	var w vg.Length
	for _, e := range l {
		w = max(w, entryWidth(e))
	}
	return vg.Point{X: w, Y: vg.Length(len(l)) * rowHeight()}
}

// drawBox draws the legend as a column into the rectangle.
func (l legend) drawBox(c *draw.Canvas, r vg.Rectangle) {
	fillRect(c, fade(whiteColor, 0.85), grow(r, 3))
	for i, e := range l {
		l.drawEntry(c, e, r.Min.X, r.Max.Y-vg.Length(i)*rowHeight(), swatchWidth)
	}
}

// drawEntry draws an entry, its sample of the given width, whose row starts
// at x, top.
func (legend) drawEntry(c *draw.Canvas, e entry, x, top, width vg.Length) {
	mid := top - rowHeight()/2
	e.drawSwatch(c, vg.Rectangle{Min: vg.Point{X: x, Y: mid - 4}, Max: vg.Point{X: x + width, Y: mid + 4}})
	sty := keyStyle()
	sty.YAlign = draw.YCenter
	c.FillText(sty, vg.Point{X: x + width + swatchGap, Y: mid + textRise}, e.label)
}

// rows breaks the legend into the rows of a strip of the given width.
func (l legend) rows(width vg.Length) [][]entry {
	var rows [][]entry
	var used vg.Length
	for _, e := range l {
		w := sampleWidth(e) + swatchGap + keyStyle().Width(e.label)
		if len(rows) == 0 || used+keyGap+w > width {
			rows = append(rows, nil)
			used = -keyGap
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += keyGap + w
	}
	return rows
}

// stripHeight returns the height of the legend as a strip.
func (l legend) stripHeight(width vg.Length) vg.Length {
	return vg.Length(len(l.rows(width))) * rowHeight()
}

// drawStrip draws the legend in rows from the top left corner.
func (l legend) drawStrip(c *draw.Canvas, left, top, width vg.Length) {
	for i, row := range l.rows(width) {
		x := left
		for _, e := range row {
			l.drawEntry(c, e, x, top-vg.Length(i)*rowHeight(), sampleWidth(e))
			x += sampleWidth(e) + swatchGap + keyStyle().Width(e.label) + keyGap
		}
	}
}

// emptiest returns which of the rectangles has the least ink inside, and how
// many points that is. Ties go to the first, so the answer depends on
// nothing but its arguments.
func emptiest(candidates []vg.Rectangle, ink []vg.Point) (best, covered int) {
	best, covered = -1, 0
	for i, r := range candidates {
		var n int
		for _, p := range ink {
			if p.X >= r.Min.X && p.X <= r.Max.X && p.Y >= r.Min.Y && p.Y <= r.Max.Y {
				n++
			}
		}
		if best < 0 || n < covered {
			best, covered = i, n
		}
	}
	return best, covered
}

// corners returns the places for a box of the given size in the corners of
// the frame: top left, top right, bottom right, bottom left.
func corners(frame vg.Rectangle, size vg.Point) []vg.Rectangle {
	const inset = 8
	l, r := frame.Min.X+inset, frame.Max.X-inset-size.X
	b, t := frame.Min.Y+inset, frame.Max.Y-inset-size.Y
	var out []vg.Rectangle
	for _, min := range []vg.Point{{X: l, Y: t}, {X: r, Y: t}, {X: r, Y: b}, {X: l, Y: b}} {
		out = append(out, vg.Rectangle{Min: min, Max: vg.Point{X: min.X + size.X, Y: min.Y + size.Y}})
	}
	return out
}
