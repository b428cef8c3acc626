package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"knee/bayesopt/baseline"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/parallel"
)

// Settings configures [Compare].
type Settings struct {
	Goal
	Budget int                                // evaluations per search, at least one
	Seeds  int                                // searches per table and method, with seeds from 0; at least one
	Done   func(done, total int, what string) // called after every search, one at a time; may be nil
}

// Compare searches every table with every method once per seed, and returns one score per
// table and method. It fails with the error of ctx, for an unknown method, and for a table
// without a successful row.
func Compare(ctx context.Context, tables []*Table, methods []string, s Settings) ([]Score, error) {
	for _, m := range methods {
		if _, err := baseline.NewStrategy(m, (&Table{}).Options(s.Goal, 0)); err != nil {
			return nil, err
		}
	}
	scores := make([]Score, len(tables)*len(methods))
	for k := range scores {
		t := tables[k/len(methods)]
		if best := t.Optimum(s.Goal); !(best > 0) || math.IsInf(best, 1) { // scores are multiples of it
			column, found := "cost_usd", fmt.Sprintf("%g as the best of the table", best)
			if s.Time {
				column = "time_s"
			}
			if best > 0 {
				found = "no row with status ok"
			}
			return nil, &data.InputError{Source: data.Source{File: "table " + t.Name, Column: column}, Found: found, Want: "at least one row that is ok, all of these above 0"}
		}
		scores[k] = Score{Table: t.Name, Kind: t.Kind, Method: methods[k%len(methods)], Seeds: s.Seeds, Traces: make([]Trace, s.Seeds)}
	}
	total, done, mu := len(scores)*s.Seeds, 0, sync.Mutex{}
	search := func(job int) error {
		score, seed := &scores[job/s.Seeds], int64(job%s.Seeds)
		t, what := tables[job/s.Seeds/len(methods)], score.Table+", "+score.Method
		method, err := baseline.NewStrategy(score.Method, t.Options(s.Goal, seed))
		if err == nil {
			score.Traces[seed], err = t.Search(method, s.Goal, s.Budget, seed)
		}
		if err != nil {
			return fmt.Errorf("table %s, seed %d: %w", what, seed, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; s.Done != nil {
			s.Done(done, total, what)
		}
		return ctx.Err()
	}
	if err := parallel.Each(total, 1, func() func(int) error { return search }); err != nil {
		return nil, err
	}
	for k := range scores {
		scores[k].average(s.Budget)
	}
	return scores, nil
}

// Score is the performance of a method on a table, averaged over seeds.
type Score struct {
	Table       string  `json:"table"`
	Kind        string  `json:"kind"`
	Method      string  `json:"method"`
	Seeds       int     `json:"seeds"`
	Evals       float64 `json:"evals_to_5pct"`      // evaluations until within 5 % of the best; budget + 1 if never
	Cost        float64 `json:"cost_to_5pct_ratio"` // Σ cost until then ÷ cost of the cheapest successful row
	Regret5     float64 `json:"regret_5"`           // best after 5 evaluations ÷ best of the table − 1
	Regret10    float64 `json:"regret_10"`
	Regret20    float64 `json:"regret_20"`
	StopEvals   float64 `json:"stop_evals"`       // evaluations when the stopping rule fired
	StopWithin5 float64 `json:"stop_within_5pct"` // share of searches whose best row then is within 5 % of the best
	Failed      float64 `json:"failed_share"`     // share of failed evaluations
	Worse       float64 `json:"worse_share"`      // of [ByKind]: share of tables with over 10 % more evaluations than random

	Traces []Trace `json:"-"` // by seed
}

// within is the required closeness to the best.
const within = 1.05

// average averages the searches.
func (s *Score) average(budget int) {
	share := 1 / float64(s.Seeds)
	for _, tr := range s.Traces {
		evals := float64(budget + 1)
		if n := slices.IndexFunc(tr.Best, func(b float64) bool { return b <= within*tr.Optimum }); n >= 0 {
			evals = float64(n + 1)
		}
		s.Evals += share * evals
		if n := min(int(evals), len(tr.Spent)); n > 0 {
			s.Cost += share * tr.Spent[n-1] / tr.Cheapest
		}
		s.Regret5 += share * regret(tr, 5)
		s.Regret10 += share * regret(tr, 10)
		s.Regret20 += share * regret(tr, 20)
		s.StopEvals += share * float64(tr.Stop)
		s.Failed += share * float64(tr.Infeasible) / float64(max(1, len(tr.Best)))
		if tr.Found <= within*tr.Optimum {
			s.StopWithin5 += share
		}
	}
}

// worseThanRandom is the factor on random's evaluations above which a method is worse.
const worseThanRandom = 1.1

// ByKind averages scores over the tables of a kind; Table is the kind and their number.
func ByKind(scores []Score) []Score {
	random := map[string]float64{}
	for _, s := range scores {
		if s.Method == "random" {
			random[s.Table] = s.Evals
		}
	}
	keys, groups := grouped.By(scores, func(s Score) [2]string { return [2]string{s.Kind, s.Method} })
	var out []Score
	for _, key := range keys {
		group := groups[key]
		kind := Score{Table: fmt.Sprintf("%s (%d)", key[0], len(group)), Kind: key[0], Method: key[1], Seeds: group[0].Seeds}
		for _, s := range group {
			if r, ok := random[s.Table]; ok && s.Evals > worseThanRandom*r {
				s.Worse = 1
			}
			for j, sum := range kind.figures() {
				*sum += *s.figures()[j] / float64(len(group))
			}
		}
		out = append(out, kind)
	}
	return out
}

// figures returns the averages.
func (s *Score) figures() []*float64 {
	return []*float64{&s.Evals, &s.Cost, &s.Regret5, &s.Regret10, &s.Regret20, &s.StopEvals, &s.StopWithin5, &s.Failed, &s.Worse}
}

// regret is that after n evaluations; 9 before a success, to keep averages finite.
func regret(tr Trace, n int) float64 {
	n = min(n, len(tr.Best))
	if n == 0 || math.IsInf(tr.Best[n-1], 1) {
		return 9
	}
	return tr.Best[n-1]/tr.Optimum - 1
}
