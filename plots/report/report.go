package report

import (
	"knee/data"
	"knee/plots"
)

// Report is a page before it is written.
type Report struct {
	Title    string
	Findings []string // the conclusions, most important first
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
	Title  string
	Text   []string // paragraphs
	Blocks []Block
}

// Block is a figure or a table; exactly one of the two is set.
type Block struct {
	Figure  plots.Figure
	Table   *Table
	Caption string // says what to look at
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

// text and amount make cells.
func text(s string) Cell               { return Cell{Text: s} }
func amount(v float64, s string) Cell  { return Cell{Text: s, Value: v} }
func columns(names ...string) []Column { return headed(names, false) }
func numeric(names ...string) []Column { return headed(names, true) }
func (s *Section) add(b Block)         { s.Blocks = append(s.Blocks, b) }
func (t *Table) row(cells ...Cell)     { t.Rows = append(t.Rows, cells) }

func headed(names []string, isNumeric bool) []Column {
	var out []Column
	for _, n := range names {
		out = append(out, Column{n, isNumeric})
	}
	return out
}

// figure adds a figure to the section, unless it could not be drawn: then the
// reason is text of the section, for a page must not fail over one picture.
func (s *Section) figure(fig plots.Figure, err error, caption string) {
	if err != nil {
		s.Text = append(s.Text, "A figure could not be drawn: "+err.Error())
		return
	}
	s.add(Block{Figure: fig, Caption: caption})
}
