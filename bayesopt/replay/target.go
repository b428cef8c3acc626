package replay

import (
	"fmt"
	"math"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/data"
	"knee/internal/list"
)

// Reach asks for the fastest configuration on At workers; trials run on at most Measure
// workers, Budget times.
type Reach struct{ At, Measure, Budget int }

// Reaches reports whether the table has enough to choose from and to measure.
func (t *Table) Reaches(r Reach) bool {
	wanted := 0
	for i, c := range t.Candidates {
		if c.Workers == r.At && t.Outcomes[i].Status == data.OK {
			wanted++
		}
	}
	near := list.Count(t.Candidates, func(c data.Config) bool { return c.Workers <= r.Measure })
	return wanted >= minPlans && near > r.Budget
}

// Reach returns the throughput of the choice after the trials of a method, as a share of
// the best at its size; 0 if it does not fit. The method scaled searches the largest size
// for trials and adds replicas to its best layout.
func (t *Table) Reach(method string, r Reach, seed int64) (float64, error) {
	h, at, scaled := bayesopt.History{Candidates: t.Candidates}, r.At, method == "scaled"
	small := func(c data.Config) bool { return c.Workers <= r.Measure }
	if scaled {
		at = 0
		for _, c := range t.Candidates {
			if small(c) {
				at = max(at, c.Workers)
			}
		}
		method, small = baseline.Guided, func(c data.Config) bool { return c.Workers == at }
	}
	o := bayesopt.Options{Objective: bayesopt.Throughput, Seed: seed, KeepGoing: true, Forms: t.Forms, Memory: t.Memory, Model: t.Model,
		Target: &bayesopt.Target{At: func(c data.Config) bool { return c.Workers == at }, Measure: small}}
	s, err := baseline.NewStrategy(method, o)
	if err != nil {
		return 0, err
	}
	for range r.Budget {
		next, err := s.Next(h)
		if err != nil {
			return 0, err
		}
		if next.Stop {
			break
		}
		m := t.measurement(next.Index, Goal{Time: true}, seed, 1)
		m.Architecture = t.Architecture
		h.Measured = append(h.Measured, m)
	}
	chooser, err := bayesopt.NewGuided(o)
	if err != nil {
		return 0, err
	}
	last, err := chooser.Next(h)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", t.Name, err)
	}
	if scaled {
		last.Choice = t.replicated(last.Choice, r.At)
	}
	return t.share(last.Choice, r.At), nil
}

// replicated returns the configuration at a size with the layout of another and the
// nearest batch, if there is one.
func (t *Table) replicated(of data.Config, at int) (pick data.Config) {
	nearest := math.Inf(1)
	for _, c := range t.Candidates {
		if gap := math.Abs(math.Log(c.LocalBatch / of.LocalBatch)); c.Workers == at && c.Layout == of.Layout && gap < nearest {
			pick, nearest = c, gap
		}
	}
	return pick
}

// share returns the throughput of a configuration as a share of the best at a size.
func (t *Table) share(choice data.Config, at int) float64 {
	got, best := 0.0, 0.0
	for i, c := range t.Candidates {
		if o := t.Outcomes[i]; o.Status == data.OK && c.Workers == at {
			speed := c.SamplesPerStep() / o.Time
			if best = max(best, speed); c.Key() == choice.Key() {
				got = speed
			}
		}
	}
	return got / best
}
