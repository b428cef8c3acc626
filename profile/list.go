package profile

import (
	"knee/bayesopt"
)

// List is the strategy that measures the candidates in their order, each once.
type List struct{}

// Next implements [bayesopt.Strategy].
func (List) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	known := map[string]bool{}
	for _, m := range h.Measured {
		known[m.Key()] = true
	}
	for _, c := range h.Running {
		known[c.Key()] = true
	}
	for i, c := range h.Candidates {
		if !known[c.Key()] {
			return bayesopt.Suggestion{Index: i, Config: c, PFeasible: 1, Reason: "next in the list"}, nil
		}
	}
	return bayesopt.Suggestion{Stop: true, Reason: "every candidate has been measured"}, nil
}
