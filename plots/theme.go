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

// The default size of a figure: one and a half columns of a journal page,
// or half a slide.
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

// Shades of the frame around the data. Text is dark grey instead of black,
// which keeps the contrast of printed text on a bright screen.
var (
	inkColor   = color.NRGBA{R: 0x22, G: 0x26, B: 0x2b, A: 0xff}
	mutedColor = color.NRGBA{R: 0x5f, G: 0x66, B: 0x6e, A: 0xff}
	axisColor  = color.NRGBA{R: 0x8a, G: 0x90, B: 0x97, A: 0xff}
	gridColor  = color.NRGBA{R: 0xe4, G: 0xe7, B: 0xea, A: 0xff}
	shadeColor = color.NRGBA{R: 0xf3, G: 0xf4, B: 0xf6, A: 0xff}
	idleColor  = color.NRGBA{R: 0xee, G: 0xf0, B: 0xf2, A: 0xff}
	// darkTextColor and lightTextColor are for text on fills that are alike on
	// light and dark pages.
	darkTextColor  = color.NRGBA{R: 0x1a, G: 0x1d, B: 0x21, A: 0xff}
	lightTextColor = color.NRGBA{R: 0xfc, G: 0xfc, B: 0xfc, A: 0xff}

	whiteColor = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
)

// palette is the colour-blind safe palette of Okabe and Ito ("Color Universal
// Design", 2008) without black, which the frame uses; yellow comes last, as
// it is faint on white.
var palette = []color.NRGBA{
	{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, // blue
	{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, // vermillion
	{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, // bluish green
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, // reddish purple
	{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, // orange
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, // sky blue
	{R: 0xf0, G: 0xe4, B: 0x42, A: 0xff}, // yellow
}

// seriesColor returns the colour of series i. Beyond the palette the colours
// repeat, each round mixed further with white.
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

// style returns a text style of the theme: Liberation Sans, which has the
// widths of Arial and Helvetica.
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
func titleStyle() text.Style    { return bold(style(11.5, inkColor)) }
func subtitleStyle() text.Style { return style(9, mutedColor) }
func axisStyle() text.Style     { return style(9, inkColor) }
func tickStyle() text.Style     { return style(8.5, mutedColor) }
func keyStyle() text.Style      { return style(8.5, inkColor) }
func noteStyle() text.Style     { return style(8.5, inkColor) }

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

// statusColor returns the colour of status i in the order of data.Statuses: black
// for out of memory, which a repetition does not change.
func statusColor(i int) color.NRGBA {
	colors := []color.NRGBA{palette[0], inkColor, mutedColor, palette[3], palette[4], palette[5]}
	return colors[i%len(colors)]
}

// Dark returns the figure in light colours on near black, for slides and dark
// pages. Figures are drawn in the light shades, which the canvas exchanges.
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

// SetColor implements [vg.Canvas]. The opacity stays; so do colours that are no
// shade.
func (d darkening) SetColor(c color.Color) {
	light := color.NRGBAModel.Convert(c).(color.NRGBA)
	for _, s := range shades() {
		if s.light.R == light.R && s.light.G == light.G && s.light.B == light.B {
			opacity := light.A
			light = s.dark
			light.A = opacity
			break
		}
	}
	d.Canvas.SetColor(light)
}

// shade is one colour of the frame or palette: its name as a CSS property, and its
// values on light and dark pages.
type shade struct {
	name        string
	light, dark color.NRGBA
}

// shades lists the colours that dark pages replace. There the series are lighter
// variants of the Okabe–Ito hues, with a contrast of at least 4.5 : 1 to the ground.
func shades() []shade {
	dark := func(r, g, b uint8) color.NRGBA { return color.NRGBA{R: r, G: g, B: b, A: 0xff} }
	all := []shade{
		{"ink", inkColor, dark(0xe8, 0xea, 0xed)},
		{"muted", mutedColor, dark(0xa3, 0xaa, 0xb2)},
		{"axis", axisColor, dark(0x7d, 0x85, 0x8e)},
		{"grid", gridColor, dark(0x2e, 0x33, 0x39)},
		{"shade", shadeColor, dark(0x20, 0x24, 0x29)},
		{"idle", idleColor, dark(0x2a, 0x2e, 0x34)},
		{"ground", whiteColor, dark(0x16, 0x19, 0x1d)},
	}
	series := []color.NRGBA{
		dark(0x4f, 0xa8, 0xe8), dark(0xf0, 0x7f, 0x2e), dark(0x2c, 0xc4, 0x98), dark(0xe0, 0x94, 0xbf),
		dark(0xee, 0xb4, 0x3c), dark(0x8a, 0xcd, 0xf5), dark(0xf0, 0xe4, 0x42),
	}
	for i, c := range palette {
		all = append(all, shade{fmt.Sprintf("series-%d", i+1), c, series[i]})
	}
	return all
}

// InlineSVG returns the figure as an SVG element for a page. Its colours are
// CSS custom properties named --knee-ink, --knee-ground, --knee-series-1 …, which
// [StyleSheet] defines for light and dark pages; the light ones are the fallback. It
// has no width of its own.
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
		if name := shadeNamed(string(hex[1:])); name != "" {
			return fmt.Appendf(nil, ":var(--knee-%s,%s)", name, hex[1:])
		}
		return hex
	}), nil
}

var (
	svgSize   = regexp.MustCompile(`<svg width="[^"]*" height="[^"]*" viewBox`)
	svgColour = regexp.MustCompile(`:#[0-9A-F]{6}\b`)
)

// shadeNamed returns the name of a colour as written in an SVG, empty if it is no
// shade. The SVG canvas rounds the channels of translucent colours down by up
// to two.
func shadeNamed(hex string) string {
	var c color.NRGBA
	if _, err := fmt.Sscanf(hex, "#%02X%02X%02X", &c.R, &c.G, &c.B); err != nil {
		return ""
	}
	near := func(a, b uint8) bool { return a <= b && b-a <= 2 }
	for _, s := range shades() {
		if near(c.R, s.light.R) && near(c.G, s.light.G) && near(c.B, s.light.B) {
			return s.name
		}
	}
	return ""
}

// StyleSheet returns the CSS custom properties of a light or dark page, one
// declaration a line.
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
