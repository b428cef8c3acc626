package replay

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"knee/data"
)

// minPlans is the number of plans below which a job on so many GPUs is no
// search space.
const minPlans = 10

// LoadTables reads the search tables of a file: one as [ReadTable] does, or, of
// measurements of training plans (columns job, workers, step_time_s, status),
// one per job and number of GPUs that has at least ten plans. There the time of
// a row is that of a step, a trial is charged its time on all GPUs at US$ 1 per
// GPU-hour, and of plans that were measured twice the first counts.
func LoadTables(path string) ([]*Table, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := data.ReadRecords(f, path)
	if err != nil {
		return nil, err
	}
	if slices.Contains(records.Header, "time_s") || !slices.Contains(records.Header, "step_time_s") {
		t, err := LoadTable(path)
		return []*Table{t}, err
	}
	return planTables(records, path)
}

// planTables groups the rows by job and workers.
func planTables(records *data.Records, path string) ([]*Table, error) {
	kind := strings.TrimSuffix(filepath.Base(path), ".csv")
	ignored := map[int]bool{slices.Index(records.Header, "source"): true}
	tables, seen := map[string]*Table{}, map[string]bool{}
	var order []string
	for i, cells := range records.Rows {
		c, o, err := readRow(records.Header, cells, ignored, data.Source{File: path, Line: records.Lines[i]})
		if err != nil {
			return nil, err
		}
		group := fmt.Sprintf("%s %s ×%d", kind, c.Job, c.Workers)
		if seen[c.Key()] {
			continue
		}
		seen[c.Key()] = true
		if tables[group] == nil {
			tables[group] = &Table{Name: group, Kind: kind, Header: records.Header}
			order = append(order, group)
		}
		o.Hourly = float64(c.Workers)
		o.Cost = o.Hourly * o.Time / 3600
		t := tables[group]
		t.Candidates, t.Outcomes = append(t.Candidates, c), append(t.Outcomes, o)
	}
	var out []*Table
	for _, group := range order {
		if t := tables[group]; len(t.Candidates) >= minPlans {
			t.chargeFailures()
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, &data.InputError{Source: data.Source{File: path}, Found: "no job with so many plans on one number of GPUs", Want: fmt.Sprintf("at least %d", minPlans)}
	}
	return out, nil
}

// Plans reports whether the rows of a table are training plans, some of which
// are spread otherwise than by data parallelism alone.
func (t *Table) Plans() bool {
	return slices.ContainsFunc(t.Candidates, func(c data.Config) bool { return !c.Plain() })
}
