package profile

import (
	"knee/bayesopt"
	"knee/data"
	"knee/profile/space"
)

// Suggest returns up to n configurations of a study to measure next, given
// measurements and training curves, for people who run trials themselves.
// Earlier suggestions count as running. If the strategy stops at once, the only
// suggestion has Stop set and gives the reason; there are fewer than n if no other is
// worth a trial before the first ones are measured.
func Suggest(s *data.Study, how Search, history []data.Measurement, curves []data.CurvePoint, n int) ([]bayesopt.Suggestion, error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, err
	}
	chooser, err := NewStrategy(s, how, efficiencyOf(curves, s))
	if err != nil {
		return nil, err
	}
	h := bayesopt.History{Candidates: candidates, Measured: history}
	var next []bayesopt.Suggestion
	for range n {
		one, err := chooser.Next(h)
		if err != nil {
			return nil, err
		}
		if one.Stop && len(next) > 0 {
			break
		}
		if next = append(next, one); one.Stop {
			break
		}
		h.Running = append(h.Running, one.Config)
	}
	return next, nil
}

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
