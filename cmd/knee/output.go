package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/term"
	"knee/plots"
)

type format string

// answering returns a command that prints a result in the format of its flag -o. own are
// formats that only this command has; they come first, and the first of all is the default.
func answering(use string, run func(*cobra.Command, []string, format) error, own ...string) *cobra.Command {
	formats := append(own, "table", "csv", "json", "markdown")
	out := format(formats[0])
	cmd := command(use, func(cmd *cobra.Command, args []string) error { return run(cmd, args, out) })
	cmd.Flags().VarP(choice[format]{&out, formats, "format"}, "output", "o", "output format: "+strings.Join(formats, ", "))
	completes(cmd, "output", formats)
	return cmd
}

// table is a result in rows of cells. The columns have the names of the files.
type table struct {
	columns []string
	rows    [][]any
	heads   []string // of the rows: printed once above the rows that share it, on a terminal; may be nil

	// people is shown in formats other than CSV: fewer columns, rounded; may be nil.
	people *table
}

// newTable returns a table without rows; columns have commas between them. The table
// for people, if there is one, has columns of its own.
func newTable(columns string, people ...string) *table {
	t := &table{columns: strings.Split(columns, ",")}
	for _, columns := range people {
		t.people = newTable(columns)
	}
	return t
}

// add adds a row. Figures, of type float64, are written exactly in CSV and as [number]
// does for people; nil is empty.
func (t *table) add(cells ...any) { t.rows = append(t.rows, cells) }

// tableOf returns a table of structs: of each the fields with the names of the columns in JSON.
func tableOf[T any](rows []T, columns string) *table {
	t, at := newTable(columns), map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at[name] = f.Index
	}
	for _, row := range rows {
		var cells []any
		for _, name := range t.columns {
			if at[name] == nil {
				panic("no field is called " + name) // a programmer error
			}
			cells = append(cells, reflect.ValueOf(row).FieldByIndex(at[name]).Interface())
		}
		t.add(cells...)
	}
	return t
}

func (t *table) addUnder(head string, cells ...any) {
	t.heads = append(t.heads, head)
	t.add(cells...)
}

// addColumn adds a cell to every row, unless all of them are nil.
func (t *table) addColumn(name string, cell func(row int) any) {
	cells := make([]any, len(t.rows))
	for i := range cells {
		cells[i] = cell(i)
	}
	if slices.ContainsFunc(cells, func(c any) bool { return c != nil }) {
		t.columns = append(t.columns, name)
		for i, c := range cells {
			t.rows[i] = append(t.rows[i], c)
		}
	}
}

// addInterval adds the columns NAME_lo and NAME_hi of estimates, unless all are zero.
func (t *table) addInterval(name, unit string, of func(row int) data.Estimate) {
	t.addColumn(name+"_lo"+unit, func(i int) any { return orEmpty(of(i).Lo) })
	t.addColumn(name+"_hi"+unit, func(i int) any { return orEmpty(of(i).Hi) })
}

// orEmpty is the cell of a figure; 0, such as a time without a goal, is empty.
func orEmpty(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}

// orNil is the cell of a figure that may not be known.
func orNil(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// print writes a result in the wanted format: v for JSON, t for the others.
func (f format) print(w io.Writer, v any, t *table) error {
	figure := func(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) } // nearly all its digits
	if f != "json" && f != "csv" {
		t, figure = cmp.Or(t.people, t), number
	}
	s, err := t.written(figure)
	if err != nil {
		return err
	}
	switch {
	case f == "json":
		if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
			v = []any{} // not null
		}
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		return nil
	case f == "csv":
		c := csv.NewWriter(w)
		if err := c.WriteAll(append([][]string{s.Columns}, s.Rows...)); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
		return nil
	case f == "markdown":
		return s.Markdown(w)
	}
	return s.Write(w)
}

// written escapes what is not printable, and refuses NaN and infinity.
func (t *table) written(figure func(float64) string) (*term.Table, error) {
	s := &term.Table{Columns: t.columns, Heads: t.heads}
	for _, cells := range t.rows {
		row := make([]string, len(cells))
		for i, c := range cells {
			switch c := c.(type) {
			case nil:
			case float64:
				row[i] = figure(c + 0) // not −0
			default:
				text := fmt.Sprint(c)
				row[i] = data.Visible(text, len(text))
			}
			switch strings.TrimLeft(row[i], "+-$") {
			case "Inf", "NaN":
				return nil, &data.InputError{Source: data.Source{Column: t.columns[i]}, Found: row[i] + " in the row " + strings.Join(row[:min(3, len(row))], ", "),
					Want: "inputs whose results are finite numbers"}
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s, nil
}

// number writes a figure with few digits.
func number(v float64) string { return plots.Plain(v) }

// The ways to write a time, an amount of money, and an estimate with its interval.
func seconds(s float64) string                               { return plots.Duration(s) }
func dollars(v float64) string                               { return plots.Money(v) }
func between(e data.Estimate, f func(float64) string) string { return plots.Interval(e, f) }

// percent writes a relative change with its sign, part a share.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f %%", math.Round(100*ratio)+0) } // not −0
func part(share float64) string    { return fmt.Sprintf("%.0f %%", 100*share) }
