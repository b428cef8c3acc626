package replay

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"knee/bayesopt"
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
	StopWithin5 float64 `json:"stop_within_5pct"` // share of runs within 5 % of the best then
}

// within is how close to the best a search has to come.
const within = 1.05

// mapSuffix after the name of a method takes the single best set of
// hyperparameters instead of averaging over them.
const mapSuffix = "-map"

// NewMethod returns the strategy called name for one search of the table.
func (t *Table) NewMethod(name string, g Goal, seed int64) (bayesopt.Strategy, error) {
	o := t.Options(g, seed)
	if base, ok := strings.CutSuffix(name, mapSuffix); ok {
		name, o.Hyper = base, "map"
	}
	return bayesopt.NewStrategy(name, o)
}

// Try searches the table with a method once for every seed from 0 and
// averages. It uses every processor and ends early with the error of ctx.
func (t *Table) Try(ctx context.Context, method string, g Goal, budget, seeds int) (Score, error) {
	if math.IsInf(t.Optimum(g), 1) {
		return Score{}, fmt.Errorf("table %s: no row succeeded, so that there is no best to find", t.Name)
	}
	traces := make([]Trace, seeds)
	errs := make([]error, seeds)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), seeds) {
		workers.Go(func() {
			for seed := range next {
				traces[seed], errs[seed] = t.searchOnce(method, g, budget, int64(seed))
			}
		})
	}
	for seed := range seeds {
		if ctx.Err() != nil {
			break
		}
		next <- seed
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return Score{}, err
	}
	for _, err := range errs {
		if err != nil {
			return Score{}, fmt.Errorf("table %s, method %s: %w", t.Name, method, err)
		}
	}
	return t.average(method, g, budget, traces), nil
}

func (t *Table) searchOnce(method string, g Goal, budget int, seed int64) (Trace, error) {
	s, err := t.NewMethod(method, g, seed)
	if err != nil {
		return Trace{}, err
	}
	return t.Search(s, g, budget, seed)
}

// average turns searches into a score.
func (t *Table) average(method string, g Goal, budget int, traces []Trace) Score {
	best, cheapest := t.Optimum(g), t.Optimum(Goal{})
	s := Score{Table: t.Name, Method: method, Seeds: len(traces)}
	share := 1 / float64(len(traces))
	for _, tr := range traces {
		evals := float64(budget + 1)
		for n, b := range tr.Best {
			if b <= within*best {
				evals = float64(n + 1)
				break
			}
		}
		s.Evals += share * evals
		if n := min(int(evals), len(tr.Spent)); n > 0 {
			s.Cost += share * tr.Spent[n-1] / cheapest
		}
		s.Regret5 += share * regret(tr, 5, best)
		s.Regret10 += share * regret(tr, 10, best)
		s.Regret20 += share * regret(tr, 20, best)
		s.StopEvals += share * float64(tr.Stop)
		if regret(tr, tr.Stop, best) <= within-1 {
			s.StopWithin5 += share
		}
	}
	return s
}

// regret is how much worse than the best of the table the best seen after n
// evaluations is. Before the first success it is that of ten times the best,
// so that an average stays a number.
func regret(tr Trace, n int, best float64) float64 {
	n = min(n, len(tr.Best))
	if n == 0 || math.IsInf(tr.Best[n-1], 1) {
		return 9
	}
	return tr.Best[n-1]/best - 1
}
