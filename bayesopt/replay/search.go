package replay

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/data"
)

// Goal says what a search on a table minimises, and under what conditions.
type Goal struct {
	Time  bool    // seconds instead of US$
	Noise float64 // coefficient of variation of one evaluation, 0 for none
	// Constants of the guided strategy, nil for the learned ones.
	Constants *bayesopt.Constants
}

// Trace is one search.
type Trace struct {
	Optimum    float64   // best value there is
	Cheapest   float64   // US$ charged for the cheapest row that succeeds
	Best       []float64 // true value of the best row seen after each evaluation; +Inf before the first success
	Spent      []float64 // US$ after each evaluation
	Stop       int       // evaluations when the stopping rule fired, the budget if it never did
	Found      float64   // true value of the row the search would have named then; +Inf for none
	Infeasible int       // evaluations of rows that did not succeed
}

// value is what a row is worth: less is better, +Inf if it did not succeed.
func (g Goal) value(o Outcome) float64 {
	switch {
	case o.Status != data.OK:
		return math.Inf(1)
	case o.perSample > 0 && g.Time:
		return o.perSample
	case o.perSample > 0:
		return o.perSample * o.Hourly / 3600
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

// cheapest returns the least that is charged for a row that succeeds.
func (t *Table) cheapest() float64 {
	least := math.Inf(1)
	for _, o := range t.Outcomes {
		if o.Status == data.OK {
			least = math.Min(least, o.Cost)
		}
	}
	return least
}

// Options returns the options of a strategy that searches the table: what is
// known beforehand is the price of every row, and nothing else.
func (t *Table) Options(g Goal, seed int64) bayesopt.Options {
	hourly := map[string]float64{}
	for i, c := range t.Candidates {
		hourly[c.Key()] = t.Outcomes[i].Hourly
	}
	o := bayesopt.Options{Objective: bayesopt.StepTime, JobTime: true, Seed: seed, KeepGoing: true, Noisy: g.Noise > 0, Constants: g.Constants}
	o.Forms, o.Memory = t.Forms, t.Memory
	if t.steps != nil {
		t.steps(&o)
	}
	if !g.Time && t.priced() {
		o.Objective = bayesopt.CostToTarget
	}
	if t.priced() {
		o.Price = func(c data.Config) float64 { return hourly[c.Key()] }
	}
	return o
}

// NewMethod returns the strategy called name, one of [baseline.Strategies],
// for one search of the table.
func (t *Table) NewMethod(name string, g Goal, seed int64) (bayesopt.Strategy, error) {
	return baseline.NewStrategy(name, t.Options(g, seed))
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
// drawn from seed, row and how often it was evaluated before, so that every
// method sees the same.
func (t *Table) Search(s bayesopt.Strategy, g Goal, budget int, seed int64) (Trace, error) {
	h := bayesopt.History{Candidates: t.Candidates}
	tr := Trace{Optimum: t.Optimum(g), Cheapest: t.cheapest(), Stop: budget, Found: math.Inf(1)}
	looks := make([]int, len(t.Candidates))
	best, spent, open := math.Inf(1), 0.0, len(t.Candidates)
	stopped := false
	for n := 0; n < budget && open > 0; n++ {
		next, err := s.Next(h)
		if err != nil {
			return tr, err
		}
		if (next.Stop || next.Fired != "") && !stopped {
			stopped, tr.Stop, tr.Found = true, n, t.named(next, h, g)
		}
		if next.Stop {
			break
		}
		i := next.Index
		if i < 0 || i >= len(t.Candidates) || looks[i] > 0 && !next.Remeasure {
			return tr, fmt.Errorf("evaluation %d: the method suggests candidate %d, which is none or was evaluated already", n+1, i)
		}
		if looks[i]++; looks[i] == 1 {
			open--
		}
		o := t.Outcomes[i]
		h.Measured = append(h.Measured, t.measurement(i, g, seed, looks[i]))
		best, spent = math.Min(best, g.value(o)), spent+o.Cost
		if o.Status != data.OK {
			tr.Infeasible++
		}
		tr.Best, tr.Spent = append(tr.Best, best), append(tr.Spent, spent)
	}
	if !stopped {
		tr.Stop = len(tr.Best)
		last := bayesopt.Suggestion{Best: -1}
		if g.Noise > 0 { // the luckiest measurement need not be what the strategy takes for the best
			var err error
			if last, err = s.Next(h); err != nil {
				return tr, err
			}
		}
		tr.Found = t.named(last, h, g)
	}
	return tr, nil
}

// named returns the true value of the row that a search would report: the one
// its suggestion calls the best, else the one with the best measurement.
func (t *Table) named(s bayesopt.Suggestion, h bayesopt.History, g Goal) float64 {
	if s.Best >= 0 && s.Best < len(t.Outcomes) {
		return g.value(t.Outcomes[s.Best])
	}
	index := t.rows()
	found, least := math.Inf(1), math.Inf(1)
	for _, m := range h.Measured {
		o := t.Outcomes[index[m.Key()]]
		// What a noisy time would make of the row's value.
		seen := g.value(o) * m.StepTime / measured(m.Config, o, g).StepTime
		if m.Status == data.OK && seen < least {
			least, found = seen, g.value(o)
		}
	}
	return found
}

// measurement is row i as a strategy sees it when it looks for the n-th time.
func (t *Table) measurement(i int, g Goal, seed int64, look int) data.Measurement {
	m := measured(t.Candidates[i], t.Outcomes[i], g)
	if g.Noise > 0 && m.Status == data.OK {
		sd := math.Sqrt(math.Log1p(g.Noise * g.Noise)) // of the logarithm
		m.StepTime *= math.Exp(sd*noiseOf(m.Config, seed, look) - sd*sd/2)
		m.StepTimeSE = g.Noise * m.StepTime
	}
	return m
}

// measured is an outcome as a strategy sees it. Where the goal is cost and
// prices are known, the time is the one that gives the row's cost exactly, so
// that machines billed beyond the listed ones are not held against it. A run
// that hit its time limit is known to take at least that long.
func measured(c data.Config, o Outcome, g Goal) data.Measurement {
	m := data.Measurement{Config: c, Status: o.Status, Wall: o.Time, PricePerHour: o.Hourly, PeakMemory: o.peak, GPUMemory: o.device}
	if o.Status != data.OK && o.Status != data.Timeout { // that of a timeout is a lower bound
		return m
	}
	if o.step > 0 {
		m.StepTime = o.step
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

// noiseOf is a standard normal number that depends on seed, row and look only.
func noiseOf(c data.Config, seed int64, look int) float64 {
	h := fnv.New64a()
	h.Write([]byte(c.Key()))
	return rand.New(rand.NewPCG(uint64(seed)+uint64(look-1)<<32, h.Sum64())).NormFloat64()
}
