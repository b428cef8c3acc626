package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// annotation is a text beside a data point.
type annotation struct {
	x, y  float64
	text  string
	color color.Color
	bold  bool
}

// place is where a note goes.
type place struct {
	box     vg.Rectangle
	covered int // ink points under it
}

// place returns where the note covers the least ink, its box inside the
// frame. Nearer places are tried first.
func (n annotation) place(f *frame, ink []vg.Point) place {
	size := n.style().Rectangle(n.text).Size()
	boxes := n.around(f, size, 7, 14, 24, 36)
	wide := make([]vg.Rectangle, len(boxes))
	for i, b := range boxes {
		wide[i] = grow(b, 2)
	}
	best, covered := emptiest(wide, ink)
	return place{boxes[best], covered}
}

// around returns boxes in the eight directions from the point, at each of
// the distances.
func (n annotation) around(f *frame, size vg.Point, distances ...vg.Length) []vg.Rectangle {
	at := f.at(n.x, n.y)
	var boxes []vg.Rectangle
	for _, d := range distances {
		for _, dir := range []vg.Point{
			{X: 1, Y: 0}, {X: 1, Y: -1}, {X: 1, Y: 1}, {X: -1, Y: 1}, {X: -1, Y: -1}, {X: -1, Y: 0}, {X: 0, Y: 1}, {X: 0, Y: -1},
		} {
			mid := vg.Point{X: at.X + dir.X*(d+size.X/2), Y: at.Y + dir.Y*(d+size.Y/2)}
			box := vg.Rectangle{
				Min: vg.Point{X: mid.X - size.X/2, Y: mid.Y - size.Y/2},
				Max: vg.Point{X: mid.X + size.X/2, Y: mid.Y + size.Y/2},
			}
			boxes = append(boxes, pushInto(f.Rectangle, box, 3))
		}
	}
	return boxes
}

// pushInto moves a box so that it lies inside the frame, if it can.
func pushInto(frame, box vg.Rectangle, inset vg.Length) vg.Rectangle {
	shift := func(lo, hi, min, max vg.Length) vg.Length {
		switch {
		case lo < min+inset:
			return min + inset - lo
		case hi > max-inset:
			return max - inset - hi
		}
		return 0
	}
	d := vg.Point{
		X: shift(box.Min.X, box.Max.X, frame.Min.X, frame.Max.X),
		Y: shift(box.Min.Y, box.Max.Y, frame.Min.Y, frame.Max.Y),
	}
	return vg.Rectangle{Min: box.Min.Add(d), Max: box.Max.Add(d)}
}

// draw writes the note into its box, on a wash that keeps it legible where
// it could not avoid a line.
func (n annotation) draw(f *frame, p place) {
	box := p.box
	if p.covered > 0 {
		fillRect(&f.Canvas, fade(whiteColor, 0.75), grow(box, 1.5))
	}
	sty := n.style()
	sty.YAlign = draw.YCenter
	f.FillText(sty, vg.Point{X: box.Min.X, Y: (box.Min.Y + box.Max.Y) / 2}, n.text)
}

func (n annotation) style() draw.TextStyle {
	sty := noteStyle()
	sty.Color = n.color
	if n.bold {
		sty = bold(sty)
	}
	return sty
}

// outline returns points along the edge and inside of a box, for the notes
// and the legend that come after it.
func outline(r vg.Rectangle) []vg.Point {
	var out []vg.Point
	const spacing = 3
	for y := r.Min.Y; y <= r.Max.Y; y += spacing {
		out = append(out, along([]vg.Point{{X: r.Min.X, Y: y}, {X: r.Max.X, Y: y}})...)
	}
	return out
}
