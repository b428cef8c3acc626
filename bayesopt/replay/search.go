package replay

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"knee/bayesopt"
	"knee/data"
)

// Goal says what a search on a table minimises.
type Goal struct {
	Time  bool    // seconds instead of US$
	Noise float64 // coefficient of variation of one evaluation, 0 for none
}

// Trace is one search.
type Trace struct {
	Best  []float64 // true value of the best row seen after each evaluation; +Inf before the first success
	Spent []float64 // US$ after each evaluation
	Stop  int       // evaluations when the stopping rule fired, the budget if it never did
}

// value is what a row is worth: less is better, +Inf if it did not succeed.
func (g Goal) value(o Outcome) float64 {
	switch {
	case o.Status != data.OK:
		return math.Inf(1)
	case g.Time:
		return o.Time
	}
	return o.Cost
}

// Optimum returns the best value of a table, +Inf if no row succeeded.
func (t *Table) Optimum(g Goal) float64 {
	best := math.Inf(1)
	for _, o := range t.Outcomes {
		best = math.Min(best, g.value(o))
	}
	return best
}

// Options returns the options of a strategy that searches the table: what is
// known beforehand is the price of every row, and nothing else.
func (t *Table) Options(g Goal, seed int64) bayesopt.Options {
	hourly := map[string]float64{}
	for i, c := range t.Candidates {
		hourly[c.Key()] = t.Outcomes[i].Hourly
	}
	o := bayesopt.Options{Objective: bayesopt.StepTime, Seed: seed, KeepGoing: true, JobTime: true, Noisy: g.Noise > 0}
	if !g.Time && t.priced() {
		o.Objective = bayesopt.CostToTarget
	}
	if t.priced() {
		o.Price = func(c data.Config) float64 { return hourly[c.Key()] }
	}
	return o
}

// priced reports whether every row has a price.
func (t *Table) priced() bool {
	for _, o := range t.Outcomes {
		if !(o.Hourly > 0) {
			return false
		}
	}
	return true
}

// Search lets a strategy search the table for budget evaluations. Noise is
// drawn from seed and the row, so that every method sees the same.
func (t *Table) Search(s bayesopt.Strategy, g Goal, budget int, seed int64) (Trace, error) {
	h := bayesopt.History{Candidates: t.Candidates}
	tr := Trace{Stop: budget}
	best, spent := math.Inf(1), 0.0
	for n := 0; n < min(budget, len(t.Candidates)); n++ {
		next, err := s.Next(h)
		if err != nil {
			return tr, err
		}
		if (next.Stop || next.Fired != "") && tr.Stop == budget {
			tr.Stop = n
		}
		if next.Stop {
			break
		}
		o := t.Outcomes[next.Index]
		h.Measured = append(h.Measured, t.measurement(next.Index, g, seed))
		best, spent = math.Min(best, g.value(o)), spent+o.Cost
		tr.Best, tr.Spent = append(tr.Best, best), append(tr.Spent, spent)
	}
	return tr, nil
}

// measurement is row i as a strategy sees it.
func (t *Table) measurement(i int, g Goal, seed int64) data.Measurement {
	m := measured(t.Candidates[i], t.Outcomes[i], g)
	if g.Noise > 0 && m.Status == data.OK {
		sd := math.Sqrt(math.Log1p(g.Noise * g.Noise)) // of the logarithm
		m.StepTime *= math.Exp(sd*noiseOf(m.Config, seed) - sd*sd/2)
	}
	return m
}

// measured is an outcome as a strategy sees it. Where the goal is cost and
// prices are known, the time is the one that gives the row's cost exactly, so
// that machines billed beyond the listed ones are not held against it.
func measured(c data.Config, o Outcome, g Goal) data.Measurement {
	m := data.Measurement{Config: c, Status: o.Status, Wall: o.Time, PricePerHour: o.Hourly}
	if o.Status != data.OK {
		return m
	}
	m.StepTime = o.Time
	if !g.Time && o.Cost > 0 {
		m.StepTime = o.Cost
		if o.Hourly > 0 {
			m.StepTime = o.Cost * 3600 / o.Hourly
		}
	}
	return m
}

// noiseOf is a standard normal number that depends on seed and row only.
func noiseOf(c data.Config, seed int64) float64 {
	h := fnv.New64a()
	h.Write([]byte(c.Key()))
	return rand.New(rand.NewPCG(uint64(seed), h.Sum64())).NormFloat64()
}
