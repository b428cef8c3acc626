package replay

import (
	"context"
	"math"
	"slices"
)

// Score is how a method did on a table, averaged over seeds.
type Score struct {
	Table       string  `json:"table"`
	Method      string  `json:"method"`
	Seeds       int     `json:"seeds"`
	Evals       float64 `json:"evals_to_5pct"`      // evaluations until within 5 % of the best; budget + 1 if never
	Cost        float64 `json:"cost_to_5pct_ratio"` // Σ cost until then ÷ cost of the cheapest row
	Regret5     float64 `json:"regret_5"`           // best seen after 5 evaluations ÷ best − 1
	Regret10    float64 `json:"regret_10"`
	Regret20    float64 `json:"regret_20"`
	StopEvals   float64 `json:"stop_evals"`       // evaluations when the stopping rule fired
	StopWithin5 float64 `json:"stop_within_5pct"` // share of runs that then name a row within 5 % of the best
	Infeasible  float64 `json:"infeasible"`       // evaluations of rows that did not succeed
}

// within is how close to the best a search has to come.
const within = 1.05

// Try searches the table with one method; see [Compare].
func (t *Table) Try(ctx context.Context, method string, g Goal, budget, seeds int) (Score, error) {
	results, err := Compare(ctx, []*Table{t}, []string{method}, Settings{Goal: g, Budget: budget, Seeds: seeds})
	if err != nil {
		return Score{}, err
	}
	return results[0].Score, nil
}

// average turns searches into a score.
func average(table, method string, budget int, traces []Trace) Score {
	s := Score{Table: table, Method: method, Seeds: len(traces)}
	share := 1 / float64(len(traces))
	for _, tr := range traces {
		evals := float64(budget + 1)
		for n, b := range tr.Best {
			if b <= within*tr.Optimum {
				evals = float64(n + 1)
				break
			}
		}
		s.Evals += share * evals
		if n := min(int(evals), len(tr.Spent)); n > 0 {
			s.Cost += share * tr.Spent[n-1] / tr.Cheapest
		}
		s.Regret5 += share * regret(tr, 5)
		s.Regret10 += share * regret(tr, 10)
		s.Regret20 += share * regret(tr, 20)
		s.StopEvals += share * float64(tr.Stop)
		s.Infeasible += share * float64(tr.Infeasible)
		if tr.Found <= within*tr.Optimum {
			s.StopWithin5 += share
		}
	}
	return s
}

// regret is how much worse than the best of the table the best seen after n
// evaluations is. Before the first success it is that of ten times the best,
// so that an average stays a number.
func regret(tr Trace, n int) float64 {
	n = min(n, len(tr.Best))
	if n == 0 || math.IsInf(tr.Best[n-1], 1) {
		return 9
	}
	return tr.Best[n-1]/tr.Optimum - 1
}

// Progress is how far the searches of one method had come after N evaluations:
// best seen ÷ best of the table, over all tables and seeds.
type Progress struct {
	N              int
	Lo, Median, Hi float64 // 10 %, 50 % and 90 % quantile; +Inf where too few have succeeded
}

// ProgressOf returns the progress of one method over its results, from the
// first evaluation to the last.
func ProgressOf(results []Result) []Progress {
	longest := 0
	for _, r := range results {
		for _, tr := range r.Traces {
			longest = max(longest, len(tr.Best))
		}
	}
	out := make([]Progress, longest)
	for n := range out {
		var ratios []float64
		for _, r := range results {
			for _, tr := range r.Traces {
				if k := min(n, len(tr.Best)-1); k >= 0 {
					ratios = append(ratios, tr.Best[k]/tr.Optimum)
				}
			}
		}
		slices.Sort(ratios)
		at := func(q float64) float64 { return ratios[int(math.Round(q*float64(len(ratios)-1)))] }
		out[n] = Progress{N: n + 1, Lo: at(0.1), Median: at(0.5), Hi: at(0.9)}
	}
	return out
}
