package replay

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"knee/bayesopt"
	"knee/data"
)

// Goal is the quantity to minimise and the conditions of a search.
type Goal struct {
	Time  bool    // seconds instead of US$
	Noise float64 // coefficient of variation of one evaluation, 0 for none
	// Constants of the guided strategy; nil: the learned ones.
	Constants *bayesopt.Constants
}

// Trace is one search.
type Trace struct {
	Optimum    float64   // best value of the table
	Cheapest   float64   // US$ of the cheapest successful row
	Best       []float64 // noise-free value of the best row after each evaluation; +Inf before the first success
	Spent      []float64 // US$ after each evaluation
	Stop       int       // evaluations when the stopping rule fired, else all of them
	Found      float64   // noise-free value of the row that the strategy then held for the best; +Inf for none
	Infeasible int       // failed evaluations
}

// value is the quantity to minimise, +Inf if the row failed.
func (g Goal) value(o Outcome) float64 {
	switch {
	case o.Status != data.OK:
		return math.Inf(1)
	case g.Time:
		return cmp.Or(o.perSample, o.Time)
	case o.perSample > 0:
		return o.perSample * o.Hourly / 3600
	}
	return o.Cost
}

// Optimum returns the best value of a table, +Inf if no row succeeded.
func (t *Table) Optimum(g Goal) float64 { return t.least(g.value) }

func (t *Table) least(of func(Outcome) float64) float64 {
	least := math.Inf(1)
	for _, o := range t.Outcomes {
		if o.Status == data.OK {
			least = min(least, of(o))
		}
	}
	return least
}

// Options returns the options to search the table: only prices are known beforehand.
func (t *Table) Options(g Goal, seed int64) bayesopt.Options {
	hourly, priced := map[string]float64{}, true
	for i, c := range t.Candidates {
		hourly[c.Key()] = t.Outcomes[i].Hourly
		priced = priced && t.Outcomes[i].Hourly > 0
	}
	o := bayesopt.Options{Objective: bayesopt.StepTime, JobTime: true, Seed: seed, KeepGoing: true, Noisy: g.Noise > 0,
		Constants: g.Constants, Forms: t.Forms, Model: t.Model, Memory: t.Memory}
	if t.steps != nil {
		t.steps(&o)
	}
	if priced {
		o.Price = func(c data.Config) float64 { return hourly[c.Key()] }
		if !g.Time {
			o.Objective = bayesopt.CostToTarget
		}
	}
	return o
}

// Search searches the table with a strategy for budget evaluations, after which it asks
// once more for the best. Noise depends on seed, row and number of its earlier evaluations.
func (t *Table) Search(s bayesopt.Strategy, g Goal, budget int, seed int64) (Trace, error) {
	h := bayesopt.History{Candidates: t.Candidates}
	tr := Trace{Optimum: t.Optimum(g), Cheapest: t.least(func(o Outcome) float64 { return o.Cost }), Found: math.Inf(1)}
	looks := make([]int, len(t.Candidates))
	best, spent, stopped := math.Inf(1), 0.0, false
	for n := 0; ; n++ {
		next, err := s.Next(h)
		if err != nil {
			return tr, err
		}
		over := next.Stop || n == budget
		if (over || next.Fired != "") && !stopped {
			stopped, tr.Stop = true, n
			if next.Best >= 0 {
				tr.Found = g.value(t.Outcomes[next.Best])
			}
		}
		if over {
			return tr, nil
		}
		i := next.Index
		if i < 0 || i >= len(t.Candidates) || looks[i] > 0 && !next.Remeasure {
			return tr, fmt.Errorf("evaluation %d: the method suggests candidate %d, which does not exist or was evaluated before", n+1, i)
		}
		looks[i]++
		o := t.Outcomes[i]
		h.Measured = append(h.Measured, t.measurement(i, g, seed, looks[i]))
		best, spent = math.Min(best, g.value(o)), spent+o.Cost
		if o.Status != data.OK {
			tr.Infeasible++
		}
		tr.Best, tr.Spent = append(tr.Best, best), append(tr.Spent, spent)
	}
}

// measurement returns the look-th measurement of row i. If the goal is cost and prices are
// known, StepTime gives the row's cost, which may include unlisted machines.
func (t *Table) measurement(i int, g Goal, seed int64, look int) data.Measurement {
	o := t.Outcomes[i]
	m := data.Measurement{Config: t.Candidates[i], Status: o.Status, Wall: o.Time, PricePerHour: o.Hourly, PeakMemory: o.peak, GPUMemory: o.device}
	switch {
	case o.Status != data.OK && o.Status != data.Timeout:
		return m
	case o.step > 0:
		m.StepTime = o.step
	case g.Time || o.Cost == 0:
		m.StepTime = o.Time
	case o.Hourly > 0:
		m.StepTime = o.Cost * 3600 / o.Hourly
	default:
		m.StepTime = o.Cost
	}
	if g.Noise > 0 && m.Status == data.OK {
		sd, key := math.Sqrt(math.Log1p(g.Noise*g.Noise)), fnv.New64a() // sd of the logarithm
		key.Write([]byte(m.Key()))
		rng := rand.New(rand.NewPCG(uint64(seed)+uint64(look-1)<<32, key.Sum64()))
		m.StepTime *= math.Exp(sd*rng.NormFloat64() - sd*sd/2)
		m.StepTimeSE = g.Noise * m.StepTime
	}
	return m
}
