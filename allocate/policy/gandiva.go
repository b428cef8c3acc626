package policy

import "knee/allocate"

// Gandiva time-slices when there are too few GPUs and grows jobs when there
// are too many (Xiao et al., OSDI 2018, sections 3.1 and 3.4): the job that
// has run least comes first, each with the gang it asked for; what is left
// goes, step by step, to the job whose measured speed rises most per GPU, and
// is taken back first when others come. A job keeps its GPUs for a slice.
//
// Simplified: a slice is a minute for every second that a restart takes, as a
// minute is for the suspend of the paper; two jobs do not share a GPU; jobs move
// where placement puts them, which keeps those that stay and packs the others.
type Gandiva struct{ leases }

// Allocate implements [allocate.Policy].
func (g *Gandiva) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	g.during(q, slice(s), func() {
		for i, n := range q.choice { // who grew has a claim to what it asked for
			if n >= 0 && float64(s.Jobs[i].Options[n].Use.GPUs) > size(&s.Jobs[i]) {
				q.drop(i)
				q.serveAsked(i)
			}
		}
		for _, i := range sorted(s, leastRun) {
			if q.choice[i] < 0 {
				q.serveAsked(i)
			}
		}
	})
	q.grow(func(int) bool { return true }, func(_ *allocate.JobState, now, then *allocate.Option) float64 {
		if now.Answer.Goodput.Mean <= 0 {
			return 0
		}
		return (then.Answer.Goodput.Mean/now.Answer.Goodput.Mean - 1) / float64(then.Use.GPUs-now.Use.GPUs)
	})
	return q.assignment(), nil
}

func leastRun(j *allocate.JobState) key { return key{j.History.Ran} }
