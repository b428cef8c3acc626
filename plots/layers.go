package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/internal/list"
)

// frame is the part of the canvas that shows data, with data coordinates.
type frame struct {
	draw.Canvas
	plot *plot.Plot
}

// at returns a data point on the canvas.
func (f *frame) at(x, y float64) vg.Point { return vg.Point{X: f.x(x), Y: f.y(y)} }

func (f *frame) x(v float64) vg.Length { return f.Canvas.X(norm(&f.plot.X, v)) }
func (f *frame) y(v float64) vg.Length { return f.Canvas.Y(norm(&f.plot.Y, v)) }

// norm maps an axis onto 0 to 1, and values outside onto −1 to 2.
func norm(a *plot.Axis, v float64) float64 {
	if _, log := a.Scale.(plot.LogScale); log && v <= 0 {
		return -1
	}
	return math.Max(-1, math.Min(2, a.Norm(v)))
}

// inside returns a data point on the canvas, moved vertically into the frame.
func (f *frame) inside(x, y float64) vg.Point {
	p := f.at(x, y)
	p.Y = max(f.Min.Y, min(f.Max.Y, p.Y))
	return p
}

// below returns a height, at most the top of the frame: that for +Inf.
func (f *frame) below(y float64) vg.Length {
	if math.IsInf(y, 1) {
		return f.Max.Y
	}
	return min(f.Max.Y, f.y(y))
}

// glyph draws a marker where a data point lies inside the frame.
func (f *frame) glyph(sty draw.GlyphStyle, x, y float64) {
	if at := f.at(x, y); f.Contains(at) {
		f.DrawGlyphNoClip(sty, at)
	}
}

// layer draws one thing in data coordinates.
type layer func(f *frame)

// polyline draws a line through points.
func polyline(sty draw.LineStyle, xs, ys []float64) layer {
	return func(f *frame) {
		pts := make([]vg.Point, len(xs))
		for i := range pts {
			pts[i] = f.at(xs[i], ys[i])
		}
		f.StrokeLines(sty, f.ClipLinesXY(pts)...)
	}
}

// ribbon fills the interval around a curve.
func ribbon(curve []Band, fill color.Color) layer {
	return func(f *frame) {
		if len(curve) < 2 {
			return
		}
		above := list.Map(curve, func(b Band) vg.Point { return f.inside(b.X, b.Hi) })
		below := list.Map(curve, func(b Band) vg.Point { return f.inside(b.X, b.Lo) })
		slices.Reverse(below)
		f.FillPolygon(fill, f.ClipPolygonX(append(above, below...)))
	}
}

// dots draws measured points with error bars, but for those that the marker would hide.
func dots(sty draw.GlyphStyle, pts []Point) layer {
	return func(f *frame) {
		const cap vg.Length = 2.2
		bar := draw.LineStyle{Color: sty.Color, Width: 1}
		for _, p := range pts {
			lo, hi := f.inside(p.X, p.Lo), f.inside(p.X, p.Hi)
			if p.Hi > p.Lo && hi.Y-lo.Y > 2*sty.Radius {
				f.StrokeLine2(bar, lo.X, lo.Y, hi.X, hi.Y)
				f.StrokeLine2(bar, lo.X-cap, lo.Y, lo.X+cap, lo.Y)
				f.StrokeLine2(bar, hi.X-cap, hi.Y, hi.X+cap, hi.Y)
			}
		}
		rim := sty
		rim.Color, rim.Radius = whiteColor, sty.Radius+0.8
		for _, p := range pts {
			if sty.Radius >= markRadius {
				f.glyph(rim, p.X, p.Y)
			}
			f.glyph(sty, p.X, p.Y)
		}
	}
}

// marker draws one emphasised point.
func marker(sty draw.GlyphStyle, x, y float64) layer {
	return func(f *frame) { f.glyph(sty, x, y) }
}

// rug draws points without a value along the bottom of the frame, in a row.
func rug(sty draw.GlyphStyle, xs []float64, row int) layer {
	return func(f *frame) {
		for _, x := range xs {
			if at := (vg.Point{X: f.x(x), Y: f.Min.Y + vg.Length(row)*9 + 6}); f.ContainsX(at.X) {
				f.DrawGlyphNoClip(sty, at)
			}
		}
	}
}

// level draws a horizontal line across the frame.
func level(sty draw.LineStyle, y float64) layer {
	return func(f *frame) {
		if at := f.y(y); f.ContainsY(at) {
			f.StrokeLine2(sty, f.Min.X, at, f.Max.X, at)
		}
	}
}

// drop draws a vertical line from the axis up to y; to the top of the frame if +Inf.
func drop(sty draw.LineStyle, x, y float64) layer {
	return func(f *frame) {
		if at := f.x(x); f.ContainsX(at) {
			f.StrokeLine2(sty, at, f.Min.Y, at, f.below(y))
		}
	}
}

// zone shades the frame between two x, up to y or, if that is +Inf, to its top.
func zone(fill color.Color, from, to, y float64) layer {
	return func(f *frame) {
		if l, r := max(f.Min.X, f.x(from)), min(f.Max.X, f.x(to)); l < r {
			fillRect(&f.Canvas, fill, vg.Rectangle{Min: vg.Point{X: l, Y: f.Min.Y}, Max: vg.Point{X: r, Y: f.below(y)}})
		}
	}
}

// box draws a bar between two x, from zero or the foot of the frame to y.
func box(fill, rim color.Color, from, to, y float64) layer {
	return func(f *frame) {
		foot, top := f.inside(from, 0), f.inside(to, y)
		r := vg.Rectangle{Min: vg.Point{X: foot.X, Y: min(foot.Y, top.Y)}, Max: vg.Point{X: top.X, Y: max(foot.Y, top.Y)}}
		fillRect(&f.Canvas, fill, r)
		// On a narrow bar a rim would hide the colour.
		if width := r.Size().X; width > 2 {
			sty := draw.LineStyle{Color: rim, Width: min(0.5, width/8)}
			f.StrokeLines(sty, []vg.Point{r.Min, {X: r.Min.X, Y: r.Max.Y}, r.Max, {X: r.Max.X, Y: r.Min.Y}})
		}
	}
}

// grow returns the rectangle with d added on every side.
func grow(r vg.Rectangle, d vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: r.Min.X - d, Y: r.Min.Y - d}, Max: vg.Point{X: r.Max.X + d, Y: r.Max.Y + d}}
}

// fillRect fills a rectangle.
func fillRect(c *draw.Canvas, col color.Color, r vg.Rectangle) {
	c.FillPolygon(col, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

// sampled returns every k-th of more than most points, and says so for the legend.
func sampled(pts []Point, most int) (kept []Point, note string) {
	every := (len(pts) + most - 1) / most
	if every <= 1 {
		return pts, ""
	}
	for i := 0; i < len(pts); i += every {
		kept = append(kept, pts[i])
	}
	return kept, fmt.Sprintf(", 1 of %d drawn", every)
}

// thinSlices is into how many slices a line is divided: more than columns of pixels.
const thinSlices = 2000

// thinned returns a line that looks the same in fewer points: of every slice the first,
// lowest, highest and last (M4 of Jugel et al., VLDB 2014, here with equally many points).
func thinned(xs, ys []float64) (tx, ty []float64) {
	const perSlice = 4
	if len(xs) <= perSlice*thinSlices {
		return xs, ys
	}
	for s := range thinSlices {
		from, to := s*len(xs)/thinSlices, (s+1)*len(xs)/thinSlices
		lo, hi := from, from
		for i := from; i < to; i++ {
			if ys[i] < ys[lo] {
				lo = i
			}
			if ys[i] > ys[hi] {
				hi = i
			}
		}
		last := -1
		for _, i := range []int{from, min(lo, hi), max(lo, hi), to - 1} {
			if i > last {
				tx, ty = append(tx, xs[i]), append(ty, ys[i])
				last = i
			}
		}
	}
	return tx, ty
}
