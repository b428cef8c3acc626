package replay

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
)

// counted records the history of every call.
type counted struct {
	bayesopt.Strategy
	asked int
	last  bayesopt.History
}

func (c *counted) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	c.asked++
	c.last = h
	return c.Strategy.Next(h)
}

// Every evaluation counts and is charged, including those before a method's
// model decides: regret after n is that of the first n rows measured.
func TestEveryEvaluationCounts(t *testing.T) {
	var b strings.Builder
	b.WriteString("machines,vcpus,price_per_hour,time_s,cost_usd,status\n")
	for i := range 24 {
		k, v := 1+i%6, 2<<(i/6)
		seconds := 900/math.Pow(float64(k), .8)/math.Sqrt(float64(v)) + 20*float64(k)
		fmt.Fprintf(&b, "%d,%d,%g,%g,%g,ok\n", k, v, .1*float64(v), seconds, .1*float64(v*k)*seconds/3600)
	}
	table := read(t, b.String())
	value := map[string]float64{}
	for i, c := range table.Candidates {
		value[c.Key()] = table.Outcomes[i].Cost
	}
	const budget = 12
	for _, name := range baseline.Strategies() {
		s, err := baseline.NewStrategy(name, table.Options(Goal{}, 3))
		if err != nil {
			t.Fatal(err)
		}
		c := &counted{Strategy: s}
		tr, err := table.Search(c, Goal{}, budget, 3)
		if err != nil {
			t.Fatal(err)
		}
		if c.asked != budget+1 || len(tr.Best) != budget || len(tr.Spent) != budget {
			t.Errorf("%s: asked %d times, %d values and %d costs noted, want %d of each and one more question", name, c.asked, len(tr.Best), len(tr.Spent), budget)
		}
		best, spent := math.Inf(1), 0.
		for n, m := range c.last.Measured {
			best, spent = math.Min(best, value[m.Key()]), spent+value[m.Key()]
			if tr.Best[n] != best || math.Abs(tr.Spent[n]-spent) > 1e-9 {
				t.Fatalf("%s, after %d evaluations: best %g for $%g, want %g for $%g", name, n+1, tr.Best[n], tr.Spent[n], best, spent)
			}
			if n == 4 && regret(tr, 5) != best/tr.Optimum-1 {
				t.Errorf("%s: regret after 5 is %g, want %g", name, regret(tr, 5), best/tr.Optimum-1)
			}
		}
	}
}
