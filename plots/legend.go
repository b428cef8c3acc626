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

// sampleWidth is the width of the sample: a lone glyph takes little.
func (e entry) sampleWidth() vg.Length {
	if e.line == nil && e.fill == nil {
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
	if e.line != nil {
		c.StrokeLine2(*e.line, x, y, x+width, y)
	}
	if e.glyph != nil {
		c.DrawGlyphNoClip(*e.glyph, vg.Point{X: x + width/2, Y: y})
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
