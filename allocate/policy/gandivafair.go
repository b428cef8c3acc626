package policy

import (
	"cmp"
	"slices"

	"knee/allocate"
)

// GandivaFair shares GPU time by tickets (Chaudhary et al., EuroSys 2020,
// sections 3.1 to 3.3): the user with least GPU time per ticket is served
// next, gang by gang (split stride), one ticket per unit of weight; and fast
// GPUs go to the jobs that gain most from them, who leave the slow ones to
// others.
//
// Approximated: users trade fast for slow time by that order of serving, not
// at a price, so that nobody is promised not to lose by it; the paper
// migrates to balance load, here everyone is placed anew.
type GandivaFair struct{}

// Allocate implements [allocate.Policy].
func (GandivaFair) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	had := map[string]float64{}
	for i := range s.Jobs {
		had[tenant(&s.Jobs[i])] += s.Jobs[i].Attained / weightOf(&s.Jobs[i])
	}
	order := sorted(s, func(j *allocate.JobState) key { return key{had[tenant(j)]} })
	// Who runs is settled by tickets; then who of them gets which type, by
	// how much faster their best type is than their second.
	var chosen []int
	for _, i := range order {
		if q.serve(i) {
			chosen = append(chosen, i)
		}
	}
	again, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(speedRatio(&s.Jobs[b]), speedRatio(&s.Jobs[a])) })
	for _, i := range chosen {
		if !again.serve(i) {
			return q.assignment(), nil // trading would leave one out
		}
	}
	return again.assignment(), nil
}

// speedRatio is how many times as fast the fastest option of a gang is as the
// slowest.
func speedRatio(j *allocate.JobState) float64 {
	g := gang(j)
	if len(g) == 0 {
		return 0
	}
	slow := j.Options[g[len(g)-1]].Answer.Goodput.Mean
	if slow <= 0 {
		return 0
	}
	return j.Options[g[0]].Answer.Goodput.Mean / slow
}
