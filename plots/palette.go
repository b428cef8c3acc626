package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
