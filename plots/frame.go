package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// frame is the part of the canvas that shows data, with the way from data
// to canvas coordinates.
type frame struct {
	draw.Canvas
	plot *plot.Plot
}

// at returns where a data point lies on the canvas. On a logarithmic axis,
// what is not positive lies below the frame.
func (f *frame) at(x, y float64) vg.Point {
	return vg.Point{X: f.x(x), Y: f.y(y)}
}

func (f *frame) x(v float64) vg.Length { return f.Canvas.X(norm(&f.plot.X, v)) }
func (f *frame) y(v float64) vg.Length { return f.Canvas.Y(norm(&f.plot.Y, v)) }

// norm maps an axis onto 0 to 1, everything outside to at most one axis
// length away.
func norm(a *plot.Axis, v float64) float64 {
	if _, log := a.Scale.(plot.LogScale); log && v <= 0 {
		return -1
	}
	return math.Max(-1, math.Min(2, a.Norm(v)))
}

// inside moves a point vertically into the frame.
func (f *frame) inside(p vg.Point) vg.Point {
	p.Y = max(f.Min.Y, min(f.Max.Y, p.Y))
	return p
}

// along returns points no further apart than a legend is small, along the
// polyline: what of it a label must not cover.
func along(pts []vg.Point) []vg.Point {
	const spacing = 3
	var out []vg.Point
	for i, p := range pts {
		if i > 0 {
			q := pts[i-1]
			n := int(math.Hypot(float64(p.X-q.X), float64(p.Y-q.Y)) / spacing)
			for k := 1; k <= n; k++ {
				t := vg.Length(k) / vg.Length(n+1)
				out = append(out, vg.Point{X: q.X + t*(p.X-q.X), Y: q.Y + t*(p.Y-q.Y)})
			}
		}
		out = append(out, p)
	}
	return out
}

// grow returns the rectangle with d added on every side.
func grow(r vg.Rectangle, d vg.Length) vg.Rectangle {
	return vg.Rectangle{
		Min: vg.Point{X: r.Min.X - d, Y: r.Min.Y - d},
		Max: vg.Point{X: r.Max.X + d, Y: r.Max.Y + d},
	}
}

// fillRect fills a rectangle.
func fillRect(c *draw.Canvas, col color.Color, r vg.Rectangle) {

	c.FillPolygon(col, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}
