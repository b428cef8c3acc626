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

	"knee/data"
	"knee/plots"
)

// doubt is a warning of a job's model.
type doubt struct{ job, text string }

// Report is a page before it is written.
type Report struct {
	Title    string
	Answers  []Answer // one for each job with a model
	Findings []string // further conclusions, most important first
	Warnings []string
	doubts   []doubt
	Sections []Section
	Inputs   []data.Input
	Command  string // that made the page
	Version  string // of knee
	// Refresh makes the page load itself anew after as many seconds; 0: final.
	Refresh int
}

// Section is one subject of a page, such as a job or a plan.
type Section struct {
	Title   string
	Text    []string // paragraphs
	Figures []Figure
	Tables  []Block
}

// Figure is a figure with what to look at in it.
type Figure struct {
	plots.Figure
	Caption string
}

// Block is a table under its caption; unless it is open, a click shows it.
type Block struct {
	Table   *Table
	Caption string
	Open    bool
}

// Table is rows of cells under columns; numeric ones are aligned right, sorted by value.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Column is the head of a column.
type Column struct {
	Name    string
	Numeric bool
}

// Cell is one entry: what it shows and, in a numeric column, its value.
type Cell struct {
	Text  string
	Value float64
}

// newTable returns a table without rows. A name with a leading # is of a numeric column.
func newTable(names ...string) *Table {
	t := &Table{}
	for _, n := range names {
		name, isNumeric := strings.CutPrefix(n, "#")
		t.Columns = append(t.Columns, Column{name, isNumeric})
	}
	return t
}

// row adds a row; a number is written for people.
func (t *Table) row(cells ...any) {
	row := make([]Cell, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case Cell:
			row[i] = c
		case int:
			row[i] = Cell{fmt.Sprint(c), float64(c)}
		case float64:
			row[i] = Cell{strings.NewReplacer("NaN", "–", "+Inf", "–", "-Inf", "–").Replace(plots.Plain(c)), c}
		default:
			row[i] = Cell{Text: fmt.Sprint(c)}
		}
	}
	t.Rows = append(t.Rows, row)
}

// table adds a table to the section.
func (s *Section) table(t *Table, caption string, open bool) {
	s.Tables = append(s.Tables, Block{t, caption, open})
}

// figure adds a figure to the section, or the reason why it could not be drawn.
func (s *Section) figure(fig plots.Figure, err error, caption string) {
	if err != nil {
		s.Text = append(s.Text, "A figure could not be drawn: "+err.Error())
		return
	}
	s.Figures = append(s.Figures, Figure{fig, caption})
}

var (
	//go:embed page.html.tmpl
	pageTemplate string
	//go:embed page.css
	styleSheet string
	//go:embed page.js
	script string
)

// Write writes the page. It fails only if w does, or if a figure cannot be drawn.
func Write(w io.Writer, r Report) error {
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"svg": inline, "tooltips": tooltipsOf, "width": widthOf, "sort": sortValue,
		"anchor": func(i int) string { return fmt.Sprintf("section-%d", i+1) },
		"short":  func(sha string) string { return sha[:min(12, len(sha))] },
	}).Parse(pageTemplate))
	themes := strings.NewReplacer("/*light*/", plots.StyleSheet(false), "/*dark*/", plots.StyleSheet(true))
	var page bytes.Buffer
	err := t.Execute(&page, struct {
		Report
		Style  template.CSS
		Script template.JS
	}{r, template.CSS(themes.Replace(styleSheet)), template.JS(script)})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

// inline draws a figure into the page. The SVG canvas escapes its texts.
func inline(fig plots.Figure) (template.HTML, error) {
	svg, err := plots.InlineSVG(fig)
	return template.HTML(svg), err
}

// tooltipsOf returns the tooltips as JSON: x and y as shares of the size, and the text.
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
