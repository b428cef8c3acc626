package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bar is a bar from the foot of the frame (or from zero, where the axis has
// it) up to y, between two x.
type bar struct {
	from, to, y float64
	fill, rim   color.Color
}

func (s bar) rectangle(f *frame) vg.Rectangle {
	foot := max(f.Min.Y, min(f.Max.Y, f.y(0)))
	top := max(f.Min.Y, min(f.Max.Y, f.y(s.y)))
	return vg.Rectangle{Min: vg.Point{X: f.x(s.from), Y: min(foot, top)}, Max: vg.Point{X: f.x(s.to), Y: max(foot, top)}}
}

func (s bar) draw(f *frame) {
	r := s.rectangle(f)
	fillRect(&f.Canvas, s.fill, r)
	// A rim takes the colour of a bar that is hardly wider than two of them.
	if width := r.Size().X; width > 2 {
		rim := draw.LineStyle{Color: s.rim, Width: min(0.5, width/8)}
		f.StrokeLines(rim, []vg.Point{r.Min, {X: r.Min.X, Y: r.Max.Y}, r.Max, {X: r.Max.X, Y: r.Min.Y}})
	}
}

func (s bar) ink(f *frame) []vg.Point { return inkOf(s.rectangle(f)) }

// inkOf covers the area of a rectangle, or a legend would hide its colour.
func inkOf(r vg.Rectangle) []vg.Point {
	const spacing = 6
	var out []vg.Point
	for x := r.Min.X; x <= r.Max.X; x += spacing {
		out = append(out, along([]vg.Point{{X: x, Y: r.Min.Y}, {X: x, Y: r.Max.Y}})...)
	}
	return out
}
