package policy

import (
	"knee/allocate"
)

// Gandiva time-slices when there are too few GPUs and grows jobs when there
// are too many (Xiao et al., OSDI 2018, sections 3.1 and 3.4): the job that
// has run least comes first, each with the gang it asked for; what is left
// goes, step by step, to the job whose measured speed rises most per GPU, and
// is taken back first when others come. A job keeps its GPUs for a slice.
//
// Simplified: a slice is a minute for every second that a restart takes, as a
// minute is for the suspend of the paper; two jobs do not share a GPU; jobs move
// where placement puts them, which keeps those that stay and packs the others.
type Gandiva struct{ leases leases }

// Allocate implements [allocate.Policy].
func (g *Gandiva) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	if g.leases == nil {
		g.leases = leases{}
	}
	g.leases.hold(q, slice(s))
	for i, n := range q.choice { // who grew has a claim to what it asked for
		if n >= 0 && float64(s.Jobs[i].Options[n].Use.GPUs) > size(&s.Jobs[i]) {
			q.drop(i)
			q.serveAsked(i)
		}
	}
	for _, i := range sorted(s, func(j *allocate.JobState) key { return key{j.History.Ran} }) {
		if q.choice[i] < 0 {
			q.serveAsked(i)
		}
	}
	g.leases.grant(q, slice(s))
	q.grow()
	return q.assignment(), nil
}

// grow raises choices while GPUs are left, each time the one whose relative
// speed rises most per GPU.
func (q *queue) grow() {
	s := q.state
	for {
		job, option, best := -1, -1, 0.0
		for i, c := range q.choice {
			if c < 0 {
				continue
			}
			now := &s.Jobs[i].Options[c]
			for n := range s.Jobs[i].Options {
				o := &s.Jobs[i].Options[n]
				more := o.Use.GPUs - now.Use.GPUs
				if more <= 0 || o.Use.GPUType != now.Use.GPUType || now.Answer.Goodput.Mean <= 0 {
					continue
				}
				gain := (o.Answer.Goodput.Mean/now.Answer.Goodput.Mean - 1) / float64(more)
				if gain > best && q.try(i, n) {
					q.try(i, c)
					job, option, best = i, n, gain
				}
			}
		}
		if job < 0 {
			return
		}
		q.try(job, option)
	}
}
