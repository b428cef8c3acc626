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
