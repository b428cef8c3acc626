package replay

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
)

// minPlans is the least number of plans of a search table.
const minPlans = 10

// LoadTables reads the search tables of a file: one as in [ReadTable] or, from measurements
// of training plans, one per job and number of GPUs with at least ten plans. There, a trial
// costs its step time at US$ 1 per GPU-hour, and of repeated plans the first counts.
func LoadTables(path string) ([]*Table, error) {
	text, err := data.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, err := data.NewTable(bytes.NewReader(text), path)
	if err != nil {
		return nil, err
	}
	if head.Has("time_s") || !head.Has("step_time_s") {
		t, err := ReadTable(bytes.NewReader(text), path)
		return []*Table{t}, err
	}
	ms, _, err := data.ReadMeasurements(bytes.NewReader(text), path) // warnings are about columns that are not knobs
	if err != nil {
		return nil, err
	}
	return planTables(ms, path, func(m data.Measurement) string { return fmt.Sprintf("%s ×%d", m.Job, m.Workers) })
}

// LoadJobs is [LoadTables] with one table per job, of all numbers of GPUs.
func LoadJobs(path string) ([]*Table, error) {
	ms, _, err := data.LoadMeasurements(path)
	if err != nil {
		return nil, err
	}
	return planTables(ms, path, func(m data.Measurement) string { return m.Job })
}

// planTables groups measurements into tables.
func planTables(ms []data.Measurement, path string, by func(data.Measurement) string) ([]*Table, error) {
	kind := strings.TrimSuffix(filepath.Base(path), ".csv")
	keys, repeats := grouped.By(ms, func(m data.Measurement) string { return m.Key() })
	ms = list.Map(keys, func(key string) data.Measurement { return repeats[key][0] })
	names, groups := grouped.By(ms, by)
	var tables []*Table
	for _, name := range names {
		if len(groups[name]) < minPlans {
			continue
		}
		t := &Table{Name: kind + " " + name, Kind: kind, Architecture: groups[name][0].Architecture}
		for _, m := range groups[name] {
			hourly, seconds := float64(m.Workers), max(m.StepTime, m.Wall)
			if m.Status == data.OK {
				seconds = m.StepTime
			}
			t.Candidates = append(t.Candidates, m.Config)
			t.Outcomes = append(t.Outcomes, Outcome{Status: m.Status, Time: seconds, Hourly: hourly, Cost: hourly * seconds / 3600})
		}
		t.chargeFailures()
		tables = append(tables, t)
	}
	if len(tables) == 0 {
		return nil, &data.InputError{Source: data.Source{File: path}, Found: "too few training plans", Want: fmt.Sprintf("a job with at least %d", minPlans)}
	}
	return tables, nil
}

// Plans reports whether the table has layouts other than data parallelism.
func (t *Table) Plans() bool {
	return slices.ContainsFunc(t.Candidates, func(c data.Config) bool { return !c.Plain() })
}
