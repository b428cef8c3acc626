package profile

import (
	"slices"
	"strconv"
	"strings"

	"knee/bayesopt"
	"knee/data"
	"knee/profile/space"
)

// Suggest returns up to n configurations to measure next, given measurements and training
// curves, of a study that [Run] would accept. Earlier suggestions count as running. If the
// strategy stops at once, the only one has Stop set; there are fewer than n if no other is
// worth a trial before the first ones.
func Suggest(s *data.Study, how Search, history []data.Measurement, curves []data.CurvePoint, n int) ([]bayesopt.Suggestion, error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, err
	}
	if err := checkLaunches(s, candidates); err != nil {
		return nil, err
	}
	chooser, err := NewStrategy(s, how, EfficiencyOf(curves, s))
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

func (List) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	for i, c := range h.Candidates {
		is := func(known data.Config) bool { return known.Key() == c.Key() }
		if !slices.ContainsFunc(h.Running, is) && !slices.ContainsFunc(h.Measured, func(m data.Measurement) bool { return is(m.Config) }) {
			return bayesopt.Suggestion{Index: i, Config: c, PFeasible: 1, Reason: "next in the list"}, nil
		}
	}
	return bayesopt.Suggestion{Stop: true, Reason: "every candidate has been measured"}, nil
}

// Recognise gives measurements made elsewhere, which may say more, the configurations of the
// study. strangers counts those of none, or of several: the search learns from them too.
func Recognise(s *data.Study, measured []data.Measurement) (out []data.Measurement, strangers int, err error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, 0, err
	}
	out = slices.Clone(measured)
	for i := range out {
		m, found, matches := &out[i].Config, 0, 0
		for at := range candidates {
			if belongs(m, &candidates[at]) {
				found, matches = at, matches+1
			}
		}
		if matches != 1 {
			strangers++
			continue
		}
		size := m.Architecture
		*m = candidates[found]
		m.Architecture = m.Architecture.Or(size)
	}
	return out, strangers, nil
}

// belongs reports whether a measured configuration agrees with a candidate.
func belongs(measured, c *data.Config) bool {
	if measured.Workers != c.Workers || measured.PS != c.PS || measured.LocalBatch != c.LocalBatch {
		return false
	}
	for name, v := range c.Extra {
		if !sameValue(measured.Extra[name], v) {
			return false
		}
	}
	if len(c.Placement) > 0 || c.Nodes > 0 {
		if measured.NodeCount() != c.NodeCount() || len(measured.Placement) > 0 && len(c.Placement) > 0 && measured.Placement.String() != c.Placement.String() {
			return false
		}
	}
	same := *measured // but for what the candidate leaves open, or was compared
	same.Extra, same.Placement, same.Nodes = c.Extra, c.Placement, c.Nodes
	if c.GPUType == "" {
		same.GPUType = ""
	}
	return same.Key() == c.Key()
}

// sameValue reports texts equal but for the case, as True and true, or the same number.
func sameValue(a, b string) bool {
	x, xErr := strconv.ParseFloat(a, 64)
	y, yErr := strconv.ParseFloat(b, 64)
	return strings.EqualFold(a, b) || xErr == nil && yErr == nil && x == y
}
