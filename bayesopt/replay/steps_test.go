package replay

import (
	"context"
	"fmt"

	"knee/bayesopt"
	"knee/data"
)

// Steps configures the search of measured step times for the highest goodput
// per dollar.
type Steps struct {
	Price      func(data.Config) float64         // US$ per hour of a whole configuration
	Efficiency func(globalBatch float64) float64 // statistical efficiency, (0, 1]
	Window     float64                           // duration of every trial, s
	Forms      []bayesopt.MeanForm               // parametric forms that the search may use; may be nil
}

// NewStepTable returns a search space of the measurements with status ok, the
// first of each configuration. A strategy sees step times and minimises US$ per
// sample at initial-batch worth; a trial is charged Window seconds. With Time
// in the goal it maximises goodput instead.
func NewStepTable(name string, ms []data.Measurement, s Steps) (*Table, error) {
	t := &Table{Name: name, steps: func(o *bayesopt.Options) {
		o.JobTime, o.Objective, o.Efficiency, o.TrialSeconds, o.Forms = false, bayesopt.Goodput, s.Efficiency, s.Window, s.Forms
	}}
	seen := map[string]bool{}
	for _, m := range ms {
		if m.Status != data.OK || seen[m.Key()] {
			continue
		}
		seen[m.Key()] = true
		price, efficiency := s.Price(m.Config), s.Efficiency(m.GlobalBatch())
		samples := m.SamplesPerStep() * efficiency
		if !(price > 0) || !(samples > 0) || !(s.Window > 0) {
			return nil, &data.InputError{Source: m.Source, Found: fmt.Sprintf("price %v US$/h, efficiency %v, batch %v, window %v s", price, efficiency, m.LocalBatch, s.Window),
				Want: "all of them > 0"}
		}
		t.Candidates = append(t.Candidates, m.Config)
		t.Outcomes = append(t.Outcomes, Outcome{Status: data.OK, Time: s.Window, Cost: price * s.Window / 3600, Hourly: price,
			step: m.StepTime, perSample: m.StepTime / samples})
	}
	if len(t.Candidates) == 0 {
		return nil, &data.InputError{Source: data.Source{File: name}, Found: "no measurement with status ok", Want: "at least one"}
	}
	return t, nil
}

// Try searches the table with one method; see [Compare].
func (t *Table) Try(ctx context.Context, method string, g Goal, budget, seeds int) (Score, error) {
	results, err := Compare(ctx, []*Table{t}, []string{method}, Settings{Goal: g, Budget: budget, Seeds: seeds})
	if err != nil {
		return Score{}, err
	}
	return results[0], nil
}
