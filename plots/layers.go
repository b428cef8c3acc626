package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// layer is one thing drawn in data coordinates.
type layer interface {
	draw(f *frame)
	// ink returns canvas points, a few points apart, that cover what the
	// mark draws and a legend or label must leave visible.
	ink(f *frame) []vg.Point
}

// line is a polyline.
type line struct {
	xs, ys []float64
	style  draw.LineStyle
}

func (l line) points(f *frame) []vg.Point {
	pts := make([]vg.Point, len(l.xs))
	for i := range pts {
		pts[i] = f.at(l.xs[i], l.ys[i])
	}
	return pts
}

func (l line) draw(f *frame) {
	f.StrokeLines(l.style, f.ClipLinesXY(l.points(f))...)
}

func (l line) ink(f *frame) []vg.Point { return along(l.points(f)) }

// ribbon is the interval around a curve.
type ribbon struct {
	curve []Band
	fill  color.Color
}

func (r ribbon) draw(f *frame) {
	if len(r.curve) < 2 {
		return
	}
	pts := make([]vg.Point, 0, 2*len(r.curve))
	for _, b := range r.curve {
		pts = append(pts, f.inside(f.at(b.X, b.Hi)))
	}
	for i := len(r.curve) - 1; i >= 0; i-- {
		pts = append(pts, f.inside(f.at(r.curve[i].X, r.curve[i].Lo)))
	}
	f.FillPolygon(r.fill, f.ClipPolygonX(pts))
}

// ink covers the area, not only its edge: a legend inside a wide ribbon
// hides it as well.
func (r ribbon) ink(f *frame) []vg.Point {
	const spacing = 6
	lo, hi := make([]vg.Point, len(r.curve)), make([]vg.Point, len(r.curve))
	for i, b := range r.curve {
		lo[i], hi[i] = f.inside(f.at(b.X, b.Lo)), f.inside(f.at(b.X, b.Hi))
	}
	var out []vg.Point
	for i := 1; i < len(lo); i++ {
		across := max(1, int((hi[i].X-lo[i-1].X)/spacing))
		for k := range across {
			t := vg.Length(k) / vg.Length(across)
			x := lo[i-1].X + t*(lo[i].X-lo[i-1].X)
			bottom, top := lo[i-1].Y+t*(lo[i].Y-lo[i-1].Y), hi[i-1].Y+t*(hi[i].Y-hi[i-1].Y)
			out = append(out, along([]vg.Point{{X: x, Y: bottom}, {X: x, Y: top}})...)
		}
	}
	return out
}

// dots are measured points with their error bars.
type dots struct {
	pts   []Point
	glyph draw.GlyphStyle
}

func (d dots) draw(f *frame) {
	const cap vg.Length = 2.2
	bar := draw.LineStyle{Color: d.glyph.Color, Width: 1}
	for _, p := range d.pts {
		lo, hi := f.inside(f.at(p.X, p.Lo)), f.inside(f.at(p.X, p.Hi))
		// Bars that would hide behind the marker are left out.
		if p.Hi > p.Lo && hi.Y-lo.Y > 2*d.glyph.Radius {
			f.StrokeLine2(bar, lo.X, lo.Y, hi.X, hi.Y)
			f.StrokeLine2(bar, lo.X-cap, lo.Y, lo.X+cap, lo.Y)
			f.StrokeLine2(bar, hi.X-cap, hi.Y, hi.X+cap, hi.Y)
		}
	}
	rim := d.glyph
	rim.Color, rim.Radius = whiteColor, d.glyph.Radius+0.8
	for _, p := range d.pts {
		at := f.at(p.X, p.Y)
		if f.Contains(at) {
			if d.glyph.Radius >= markRadius {
				f.DrawGlyphNoClip(rim, at)
			}
			f.DrawGlyphNoClip(d.glyph, at)
		}
	}
}

func (d dots) ink(f *frame) []vg.Point {
	var out []vg.Point
	for _, p := range d.pts {
		at := f.at(p.X, p.Y)
		r := d.glyph.Radius
		out = append(out, at, vg.Point{X: at.X - r, Y: at.Y}, vg.Point{X: at.X + r, Y: at.Y},
			vg.Point{X: at.X, Y: at.Y - r}, vg.Point{X: at.X, Y: at.Y + r})
		if p.Hi > p.Lo {
			out = append(out, along([]vg.Point{f.inside(f.at(p.X, p.Lo)), f.inside(f.at(p.X, p.Hi))})...)
		}
	}
	return out
}

// rug marks what has no value along the bottom of the frame; rows keep the
// marks of several series apart.
type rug struct {
	xs    []float64
	row   int
	glyph draw.GlyphStyle
}

func (r rug) points(f *frame) []vg.Point {
	pts := make([]vg.Point, len(r.xs))
	for i, x := range r.xs {
		pts[i] = vg.Point{X: f.x(x), Y: f.Min.Y + vg.Length(r.row)*9 + 6}
	}
	return pts
}

func (r rug) draw(f *frame) {
	for _, p := range r.points(f) {
		if f.ContainsX(p.X) {
			f.DrawGlyphNoClip(r.glyph, p)
		}
	}
}

func (r rug) ink(f *frame) []vg.Point { return r.points(f) }

// level is a horizontal line across the frame.
type level struct {
	y     float64
	style draw.LineStyle
}

func (l level) draw(f *frame) {
	if y := f.y(l.y); f.ContainsY(y) {
		f.StrokeLine2(l.style, f.Min.X, y, f.Max.X, y)
	}
}

func (l level) ink(f *frame) []vg.Point {
	y := f.y(l.y)
	return along([]vg.Point{{X: f.Min.X, Y: y}, {X: f.Max.X, Y: y}})
}

// verticalLine is a vertical line from the axis up to a point; to the top of the
// frame if y is +Inf.
type verticalLine struct {
	x, y  float64
	style draw.LineStyle
}

func (s verticalLine) ends(f *frame) []vg.Point {
	top := f.Max.Y
	if !math.IsInf(s.y, 1) {
		top = min(top, f.y(s.y))
	}
	return []vg.Point{{X: f.x(s.x), Y: f.Min.Y}, {X: f.x(s.x), Y: top}}
}

func (s verticalLine) draw(f *frame) {
	if e := s.ends(f); f.ContainsX(e[0].X) {
		f.StrokeLine2(s.style, e[0].X, e[0].Y, e[1].X, e[1].Y)
	}
}

func (s verticalLine) ink(f *frame) []vg.Point { return along(s.ends(f)) }

// zone shades the frame between two x, up to top. Without a top it is background:
// it lies under the grid, and a legend may lie on it.
type zone struct {
	from, to float64
	fill     color.Color
	top      *float64
}

func (z zone) draw(f *frame) {
	l, r, top := max(f.Min.X, f.x(z.from)), min(f.Max.X, f.x(z.to)), f.Max.Y
	if z.top != nil {
		top = min(top, f.y(*z.top))
	}
	if l < r {
		fillRect(&f.Canvas, z.fill, vg.Rectangle{Min: vg.Point{X: l, Y: f.Min.Y}, Max: vg.Point{X: r, Y: top}})
	}
}

func (z zone) ink(f *frame) []vg.Point {
	if z.top == nil {
		return nil
	}
	return along([]vg.Point{f.inside(f.at(z.from, *z.top)), f.inside(f.at(z.to, *z.top))})
}

// marker is one emphasised point.
type marker struct {
	x, y  float64
	glyph draw.GlyphStyle
}

func (p marker) draw(f *frame) {
	if at := f.at(p.x, p.y); f.Contains(at) {
		f.DrawGlyphNoClip(p.glyph, at)
	}
}

func (p marker) ink(f *frame) []vg.Point {
	at, r := f.at(p.x, p.y), p.glyph.Radius+2
	return []vg.Point{at, {X: at.X - r, Y: at.Y}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X, Y: at.Y + r}}
}
