package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"regexp"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The default size of a figure: one and a half columns of a page, or half a slide.
const (
	DefaultWidth  = 16 * vg.Centimeter
	DefaultHeight = 10 * vg.Centimeter
)

// Distances of the theme, in points.
const (
	margin      vg.Length = 12 // around everything
	lineGap     vg.Length = 4  // between lines of text
	textRise    vg.Length = 1  // lifts centred text, whose box includes descenders
	keyGap      vg.Length = 14 // between entries of a legend strip
	swatchWidth vg.Length = 20 // the sample of a legend entry
	swatchGap   vg.Length = 5  // between sample and text
	markRadius  vg.Length = 3
	curveWidth  vg.Length = 1.6
	thinWidth   vg.Length = 0.8
)

// Shades of the frame around the data, with the contrast of printed text.
var (
	inkColor   = rgb(0x22262b)
	mutedColor = rgb(0x5f666e)
	axisColor  = rgb(0x8a9097)
	gridColor  = rgb(0xe4e7ea)
	shadeColor = rgb(0xf3f4f6)
	idleColor  = rgb(0xeef0f2)
	// For text on fills that are alike on light and dark pages.
	darkTextColor  = rgb(0x1a1d21)
	lightTextColor = rgb(0xfcfcfc)

	whiteColor = rgb(0xffffff)
)

// palette is that of Okabe and Ito ("Color Universal Design", 2008) without black, which
// the frame uses; yellow, faint on white, comes last.
var palette = []color.NRGBA{
	rgb(0x0072b2), // blue
	rgb(0xd55e00), // vermillion
	rgb(0x009e73), // bluish green
	rgb(0xcc79a7), // reddish purple
	rgb(0xe69f00), // orange
	rgb(0x56b4e9), // sky blue
	rgb(0xf0e442), // yellow
}

// rgb is an opaque colour.
func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// seriesColor returns the colour of series i, with each round of the palette lighter.
func seriesColor(i int) color.NRGBA {
	c := palette[i%len(palette)]
	for range min(i/len(palette), 2) {
		c = tint(c, 0.45)
	}
	return c
}

// tint mixes a colour with white; f = 0 leaves it, 1 gives white.
func tint(c color.NRGBA, f float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(float64(v) + (255-float64(v))*f + 0.5) }
	return color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: c.A}
}

// fade returns the colour with the given opacity, 0 to 1.
func fade(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(255*opacity + 0.5)
	return c
}

// textOn returns the text colour that is legible on a background, by the
// relative luminance of WCAG 2 with the transfer curve taken as a square.
func textOn(c color.NRGBA) color.NRGBA {
	sq := func(v uint8) float64 { return float64(v) * float64(v) / (255 * 255) }
	if 0.2126*sq(c.R)+0.7152*sq(c.G)+0.0722*sq(c.B) > 0.3 {
		return darkTextColor
	}
	return whiteColor
}

// seriesShape returns the marker of series i.
func seriesShape(i int) draw.GlyphDrawer {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, diamondGlyph{}}
	return shapes[i%len(shapes)]
}

// diamondGlyph is a filled square standing on its corner.
type diamondGlyph struct{}

func (diamondGlyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	r := sty.Radius * 1.25
	c.FillPolygon(sty.Color, []vg.Point{
		{X: pt.X - r, Y: pt.Y}, {X: pt.X, Y: pt.Y + r}, {X: pt.X + r, Y: pt.Y}, {X: pt.X, Y: pt.Y - r},
	})
}

// crossGlyph is a bold ×, the mark of what could not be measured.
type crossGlyph struct{}

func (crossGlyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	r := sty.Radius * 0.9
	line := draw.LineStyle{Color: sty.Color, Width: 1.5}
	c.StrokeLine2(line, pt.X-r, pt.Y-r, pt.X+r, pt.Y+r)
	c.StrokeLine2(line, pt.X-r, pt.Y+r, pt.X+r, pt.Y-r)
}

// haloGlyph is a filled circle with a white rim, visible on top of a curve.
type haloGlyph struct{}

func (haloGlyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	for _, disc := range []draw.GlyphStyle{
		{Color: whiteColor, Radius: sty.Radius + 2.4},
		{Color: sty.Color, Radius: sty.Radius + 1.2},
		{Color: whiteColor, Radius: sty.Radius - 0.6},
	} {
		disc.Shape = draw.CircleGlyph{}
		c.DrawGlyphNoClip(disc, pt)
	}
}

// style returns a text style in Liberation Sans, as wide as Arial and Helvetica.
func style(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		YAlign:  text.YTop,
		Handler: handler{text.Plain{Fonts: font.DefaultCache}},
	}
}

// solid is the line of a curve.
func solid(c color.Color) draw.LineStyle { return draw.LineStyle{Color: c, Width: curveWidth} }

// guide is a thin line that helps to read.
func guide(c color.Color, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: 1, Dashes: dashes}
}

// Dashes are for extrapolations and thresholds, dots for ideals and bounds.
var (
	dashPattern = []vg.Length{4, 3}
	dotPattern  = []vg.Length{1.2, 2.4}
)

// mark is a marker of the usual size.
func mark(c color.Color, shape draw.GlyphDrawer) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: markRadius, Shape: shape}
}

// The text styles of a figure.
func titleStyle() text.Style { return bold(style(11.5, inkColor)) }
func axisStyle() text.Style  { return style(9, inkColor) }
func tickStyle() text.Style  { return style(8.5, mutedColor) }
func keyStyle() text.Style   { return style(8.5, inkColor) }

// bold returns the style in the bold face.
func bold(s text.Style) text.Style {
	s.Font.Weight = xfont.WeightBold
	return s
}

// barGlyph is an error bar, for legends.
type barGlyph struct{}

func (barGlyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	line := draw.LineStyle{Color: sty.Color, Width: 1}
	const half, wide = 4, 2.2
	c.StrokeLine2(line, pt.X, pt.Y-half, pt.X, pt.Y+half)
	c.StrokeLine2(line, pt.X-wide, pt.Y-half, pt.X+wide, pt.Y-half)
	c.StrokeLine2(line, pt.X-wide, pt.Y+half, pt.X+wide, pt.Y+half)
}

// statusColor returns the colour of status i of data.Statuses: black for out of memory.
func statusColor(i int) color.NRGBA {
	colors := []color.NRGBA{palette[0], inkColor, mutedColor, palette[3], palette[4], palette[5]}
	return colors[i%len(colors)]
}

// Dark returns the figure in light colours on near black, which the canvas exchanges.
func Dark(fig Figure) Figure {
	return darkened{fig}
}

type darkened struct{ Figure }

// Draw implements [Figure].
func (d darkened) Draw(c draw.Canvas) {
	c.Canvas = darkening{c.Canvas}
	d.Figure.Draw(c)
}

type darkening struct{ vg.Canvas }

// SetColor implements [vg.Canvas]. Opacity stays, and so do colours that are no shade.
func (d darkening) SetColor(c color.Color) {
	shown := color.NRGBAModel.Convert(c).(color.NRGBA)
	if s, ok := shadeOf(shown); ok {
		shown = color.NRGBA{R: s.dark.R, G: s.dark.G, B: s.dark.B, A: shown.A}
	}
	d.Canvas.SetColor(shown)
}

// shade is a colour by its name as a CSS property, on light and dark pages.
type shade struct {
	name        string
	light, dark color.NRGBA
}

// shades lists the colours that dark pages replace. There the series are lighter
// variants of the Okabe–Ito hues, with a contrast of at least 4.5 : 1 to the ground.
func shades() []shade {
	return []shade{
		{"ink", inkColor, rgb(0xe8eaed)}, {"muted", mutedColor, rgb(0xa3aab2)}, {"axis", axisColor, rgb(0x7d858e)}, {"grid", gridColor, rgb(0x2e3339)},
		{"shade", shadeColor, rgb(0x202429)}, {"idle", idleColor, rgb(0x2a2e34)}, {"ground", whiteColor, rgb(0x16191d)},
		{"series-1", palette[0], rgb(0x4fa8e8)}, {"series-2", palette[1], rgb(0xf07f2e)}, {"series-3", palette[2], rgb(0x2cc498)},
		{"series-4", palette[3], rgb(0xe094bf)}, {"series-5", palette[4], rgb(0xeeb43c)}, {"series-6", palette[5], rgb(0x8acdf5)},
		{"series-7", palette[6], rgb(0xf0e442)},
	}
}

// shadeOf returns the shade that is drawn in a colour. The SVG canvas rounds the
// channels of translucent colours down by up to two.
func shadeOf(c color.NRGBA) (shade, bool) {
	near := func(a, b uint8) bool { return a <= b && b-a <= 2 }
	for _, s := range shades() {
		if near(c.R, s.light.R) && near(c.G, s.light.G) && near(c.B, s.light.B) {
			return s, true
		}
	}
	return shade{}, false
}

// InlineSVG returns the figure as an SVG element for a page, without a width of its own.
// Its colours are CSS custom properties (--knee-ink, --knee-series-1 …) that [StyleSheet]
// defines; the light ones are the fallback.
func InlineSVG(fig Figure) ([]byte, error) {
	svg, err := render("svg", fig)
	if err != nil {
		return nil, err
	}
	if i := bytes.Index(svg, []byte("<svg")); i > 0 {
		svg = svg[i:]
	}
	svg = svgSize.ReplaceAll(svg, []byte(`<svg viewBox`))
	return svgColour.ReplaceAllFunc(svg, func(hex []byte) []byte {
		var c color.NRGBA
		_, _ = fmt.Sscanf(string(hex), ":#%02X%02X%02X", &c.R, &c.G, &c.B) // svgColour has the form
		if s, ok := shadeOf(c); ok {
			return fmt.Appendf(nil, ":var(--knee-%s,%s)", s.name, hex[1:])
		}
		return hex
	}), nil
}

var (
	svgSize   = regexp.MustCompile(`<svg width="[^"]*" height="[^"]*" viewBox`)
	svgColour = regexp.MustCompile(`:#[0-9A-F]{6}\b`)
)

// StyleSheet returns the CSS custom properties of a light or dark page, one a line.
func StyleSheet(dark bool) string {
	var b strings.Builder
	for _, s := range shades() {
		c := s.light
		if dark {
			c = s.dark
		}
		fmt.Fprintf(&b, "--knee-%s: #%02X%02X%02X;\n", s.name, c.R, c.G, c.B)
	}
	return b.String()
}
