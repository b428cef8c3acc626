package report

import (
	"fmt"
	"strings"

	"knee/data"
	"knee/plots"
)

// Report is a page before it is written.
type Report struct {
	Title    string
	Answers  []Answer // one for each job with a model
	Findings []string // further conclusions, most important first
	Warnings []string
	Sections []Section
	Inputs   []data.Input
	Command  string // that made the page
	Version  string // of knee
	// Refresh makes the page load itself anew after as many seconds; 0 for a
	// page that is final.
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

// Table is rows of cells under named columns. Numeric columns are aligned
// right and sorted by value.
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

// newTable returns a table without rows. A name with a leading # is that of a
// numeric column.
func newTable(names ...string) *Table {
	t := &Table{}
	for _, n := range names {
		name, isNumeric := strings.CutPrefix(n, "#")
		t.Columns = append(t.Columns, Column{name, isNumeric})
	}
	return t
}

func (t *Table) row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// text, amount and count make cells.
func text(s string) Cell              { return Cell{Text: s} }
func amount(v float64, s string) Cell { return Cell{Text: s, Value: v} }
func count(n int) Cell                { return amount(float64(n), fmt.Sprint(n)) }

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
