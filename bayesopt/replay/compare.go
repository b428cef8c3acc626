package replay

import (
	"context"
	"fmt"
	"math"
	"sync"

	"knee/data"
	"knee/internal/parallel"
)

// Settings configures [Compare].
type Settings struct {
	Goal
	Budget int                                // evaluations per search
	Seeds  int                                // searches per table and method, with seeds from 0
	Done   func(done, total int, what string) // called after every search, one at a time; may be nil
}

// Result is the score of one method on one table.
type Result struct {
	Score
	Traces []Trace // by seed
}

// comparable refuses a table without a best value above 0: scores are multiples
// of it.
func (t *Table) comparable(g Goal) error {
	column := "cost_usd"
	if g.Time {
		column = "time_s"
	}
	src := data.Source{File: "table " + t.Name, Column: column}
	switch best := t.Optimum(g); {
	case math.IsInf(best, 1):
		return &data.InputError{Source: src, Found: "no row with status ok", Want: "at least one"}
	case best <= 0:
		return &data.InputError{Source: src, Found: fmt.Sprintf("%g as the best of the table", best), Want: "more than 0 in every row that is ok"}
	}
	return nil
}

// Compare searches every table with every method once per seed, and returns one
// result per table and method, in that order. It uses all processors. It fails
// with the error of ctx, and before the first search for an unknown method or a
// table without a successful row.
func Compare(ctx context.Context, tables []*Table, methods []string, s Settings) ([]Result, error) {
	if s.Budget < 1 || s.Seeds < 1 {
		return nil, fmt.Errorf("budget %d, seeds %d: want at least one of each", s.Budget, s.Seeds)
	}
	for _, t := range tables {
		if err := t.comparable(s.Goal); err != nil {
			return nil, err
		}
		for _, m := range methods {
			if _, err := t.NewMethod(m, s.Goal, 0); err != nil {
				return nil, err
			}
		}
	}
	results := make([]Result, len(tables)*len(methods))
	for r := range results {
		results[r].Traces = make([]Trace, s.Seeds)
	}
	total, done, mu := len(results)*s.Seeds, 0, sync.Mutex{}
	what := func(r int) string { return tables[r/len(methods)].Name + ", " + methods[r%len(methods)] }
	search := func(job int) error {
		r, seed := job/s.Seeds, job%s.Seeds
		t := tables[r/len(methods)]
		method, err := t.NewMethod(methods[r%len(methods)], s.Goal, int64(seed))
		if err == nil {
			results[r].Traces[seed], err = t.Search(method, s.Goal, s.Budget, int64(seed))
		}
		if err != nil {
			return fmt.Errorf("table %s, seed %d: %w", what(r), seed, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; s.Done != nil {
			s.Done(done, total, what(r))
		}
		return ctx.Err()
	}
	if err := parallel.Each(total, 1, func() func(int) error { return search }); err != nil {
		return nil, err
	}
	for r := range results {
		results[r].Score = average(tables[r/len(methods)], methods[r%len(methods)], s.Budget, results[r].Traces)
	}
	return results, nil
}
