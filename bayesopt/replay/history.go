package replay

import (
	"slices"

	"knee/data"
)

// LoadHistory reads previous measurements of the table: a file with the table's
// columns and rows in any order, none, or some repeated. It fails with a
// *data.InputError that names the line for a row that is not in the table.
func (t *Table) LoadHistory(path string, g Goal) ([]data.Measurement, error) {
	text, err := readAll(path)
	if err != nil {
		return nil, err
	}
	index := t.rows()
	parameters := slices.DeleteFunc(slices.Clone(t.Header), func(c string) bool { return slices.Contains(outcomeColumns(), c) })
	var ms []data.Measurement
	err = t.each(text, path, parameters, func(row *data.Row, c data.Config, o Outcome) error {
		k, ok := index[c.Key()]
		if !ok {
			return &data.InputError{Source: row.Source(), Found: c.String(), Want: "a row of the table " + t.Name}
		}
		o.Hourly = t.Outcomes[k].Hourly
		ms = append(ms, measured(t.Candidates[k], o, g))
		ms[len(ms)-1].Source = row.Source()
		return nil
	})
	return ms, err
}
