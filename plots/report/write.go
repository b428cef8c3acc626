package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"knee/plots"
)

var (
	//go:embed page.html.tmpl
	pageTemplate string
	//go:embed page.css
	styleSheet string
	//go:embed page.js
	script string
)

// Write writes the page. It fails only if w does, or if a figure of the
// report cannot be drawn.
func Write(w io.Writer, r Report) error {
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"svg": inline, "tooltips": tooltipsOf, "width": widthOf, "sort": sortValue,
		"anchor": func(i int) string { return fmt.Sprintf("section-%d", i+1) },
		"short":  func(sha string) string { return sha[:min(12, len(sha))] },
	}).Parse(pageTemplate))
	var page bytes.Buffer
	err := t.Execute(&page, struct {
		Report
		Style  template.CSS
		Script template.JS
	}{r, template.CSS(themed(styleSheet)), template.JS(script)})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

// themed puts the colours of the figures into the style sheet, for light and
// dark pages.
func themed(css string) string {
	return strings.NewReplacer("/*light*/", plots.StyleSheet(false), "/*dark*/", plots.StyleSheet(true)).Replace(css)
}

// inline draws a figure into the page. The SVG canvas escapes its texts.
func inline(fig plots.Figure) (template.HTML, error) {
	svg, err := plots.InlineSVG(fig)
	return template.HTML(svg), err
}

// tooltipsOf returns the tooltips of a figure as JSON for the script: x and y as
// shares of its width and height, and the text. The template escapes it.
func tooltipsOf(fig plots.Figure) (string, error) {
	w, h := fig.Size()
	tooltips := make([][3]any, 0)
	round := func(v float64) float64 { return math.Round(v*1e4) / 1e4 }
	for _, s := range fig.Tooltips() {
		tooltips = append(tooltips, [3]any{round(float64(s.X / w)), round(float64(s.Y / h)), s.Text})
	}
	out, err := json.Marshal(tooltips)
	return string(out), err
}

// widthOf is how wide a figure wants to be, in CSS pixels.
func widthOf(fig plots.Figure) int {
	w, _ := fig.Size()
	return int(float64(w) * 96 / 72 * 1.15)
}

// sortValue is the value that a cell is sorted by, empty if it is not finite.
func sortValue(c Cell) string {
	if math.IsNaN(c.Value) || math.IsInf(c.Value, 0) {
		return ""
	}
	return fmt.Sprintf("%.9g", c.Value)
}
