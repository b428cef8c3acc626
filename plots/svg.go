package plots

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// portableSVG makes an SVG look the same where Liberation Sans is not
// installed: it names the fonts of the same widths as alternatives, and says
// of every text how wide it is, so that with any other font it still ends
// where the layout has room for it.
func portableSVG(svg []byte) []byte {
	svg = bytes.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' {
			return '\uFFFD' // XML has no form for it
		}
		return c
	}, svg)
	svg = svgText.ReplaceAllFunc(svg, func(t []byte) []byte {
		m := svgText.FindSubmatch(t)
		size, err := strconv.ParseFloat(string(m[4]), 64)
		words := html.UnescapeString(string(m[5]))
		if err != nil || words == "" {
			return t
		}
		sty := style(vg.Length(size), inkColor)
		if string(m[3]) == "bold" {
			sty = bold(sty)
		}
		width := fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs"`, float64(sty.Width(words)))
		return append([]byte(width), t[len("<text"):]...)
	})
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// svgText matches a text element as the SVG canvas writes it: everything up
// to its style, the style up to the weight, weight, size in px, and the text.
var svgText = regexp.MustCompile(`<text ([^>]*?)style="([^"]*?)font-weight:(\w+);[^"]*?font-size:([0-9.]+)px[^"]*">([^<]*)</text>`)
