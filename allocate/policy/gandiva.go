package policy

import "knee/allocate"

// Gandiva time-slices if there are too few GPUs, packs two jobs on the GPUs of one while
// both together are faster than in turns, and grows jobs if GPUs are left (Xiao et al., OSDI
// 2018, sections 3.1 to 3.4). The job that has run least comes first, with the gang it asked
// for. A job without GPUs is packed with the job with which both together are fastest; after
// a round their speeds are known, and a pair no faster than turns is ended. GPUs that are
// left go, step by step, to the job whose speed rises most per GPU, and are taken back first
// when others need them. A job, or a pair, keeps its GPUs for a slice. Simplified, see
// docs/policies.md.
type Gandiva struct{ leases }

// Allocate implements [allocate.Policy].
func (g *Gandiva) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	before := hosts(&s)
	g.during(q, s.Now+slice(s), func() {
		for i, n := range q.choice { // a job that grew is entitled only to its gang
			if n >= 0 && float64(s.Jobs[i].Options[n].Use.GPUs) > size(&s.Jobs[i]) {
				q.set(i, allocate.None)
				q.serveAsked(i)
			}
		}
		for _, i := range sorted(s, leastRun) {
			if host, packed := before[i]; packed { // their turn is one
				i = host
			}
			if q.choice[i] < 0 {
				q.serveAsked(i)
			}
		}
		q.fill(leastRun)
	})
	q.pack(q.waiting(leastRun), func(guest, host float64) float64 { return guest + host })
	q.grow(func(i int) bool { return !q.hosting(i) }, func(_ *allocate.JobState, now, then *allocate.Option) float64 {
		if now.Answer.Goodput.Mean <= 0 {
			return 0
		}
		return (then.Answer.Goodput.Mean/now.Answer.Goodput.Mean - 1) / float64(then.Use.GPUs-now.Use.GPUs)
	})
	return q.assignment(), nil
}

func leastRun(j *allocate.JobState) key { return key{j.History.Ran} }
