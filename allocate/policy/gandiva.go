package policy

import "knee/allocate"

// Gandiva time-slices when there are too few GPUs, packs two jobs on the GPUs of
// one while they are faster beside each other than by turns, and grows jobs when
// there are too many GPUs (Xiao et al., OSDI 2018, sections 3.1 to 3.4): the job
// that has run least comes first, each with the gang it asked for. Who is left
// without GPUs is packed beside the job with which both together are fastest;
// after a round the speed of both is known, and a pair that is no better than
// turns is undone. What is left of the GPUs goes, step by step, to the job whose
// measured speed rises most per GPU, and is taken back first when others come. A
// job keeps its GPUs for a slice; so does a pair.
//
// Simplified: a slice is a minute for every second that a restart takes, as a
// minute is for the suspend of the paper; pairs are tried by their predicted
// speed, and not by how little of a GPU each uses; jobs move where placement puts
// them, which keeps those that stay and packs the others.
type Gandiva struct {
	leases
	packs
	hosts map[string]string // of the guests of the last answer
}

// Allocate implements [allocate.Policy].
func (g *Gandiva) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	before := g.before(q)
	g.during(q, slice(s), func() {
		for i, n := range q.choice { // who grew has a claim to what it asked for
			if n >= 0 && float64(s.Jobs[i].Options[n].Use.GPUs) > size(&s.Jobs[i]) {
				q.drop(i)
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
	hosts := g.pack(q, before)
	q.grow(func(i int) bool { return !hosts[i] }, func(_ *allocate.JobState, now, then *allocate.Option) float64 {
		if now.Answer.Goodput.Mean <= 0 {
			return 0
		}
		return (then.Answer.Goodput.Mean/now.Answer.Goodput.Mean - 1) / float64(then.Use.GPUs-now.Use.GPUs)
	})
	return q.assignment(), nil
}

// before are the guests of the last answer, with their hosts.
func (g *Gandiva) before(q *queue) map[int]int {
	at, out := map[string]int{}, map[int]int{}
	for i := range q.state.Jobs {
		at[q.state.Jobs[i].Name] = i
	}
	for guest, host := range g.hosts {
		i, there := at[guest]
		if h, too := at[host]; there && too {
			out[i] = h
		}
	}
	return out
}

// pack puts who was not served beside who was, where it stood before if that is
// still worth it.
func (g *Gandiva) pack(q *queue, before map[int]int) (hosts map[int]bool) {
	hosts = map[int]bool{}
	g.guests, g.hosts = map[int][2]int{}, map[string]string{}
	beside := func(i, host int) {
		if _, option := g.pair(q, i, host); option >= 0 && !hosts[host] {
			hosts[host], g.guests[i], g.hosts[q.state.Jobs[i].Name] = true, [2]int{host, option}, q.state.Jobs[host].Name
		}
	}
	waiting := q.waiting(leastRun)
	for _, i := range waiting {
		if host, packed := before[i]; packed {
			beside(i, host)
		}
	}
	for _, i := range waiting {
		if _, packed := g.guests[i]; packed {
			continue
		}
		best, most := -1, 0.0
		for host := range q.choice {
			if speed, _ := g.pair(q, i, host); speed > most && !hosts[host] {
				best, most = host, speed
			}
		}
		if best >= 0 {
			beside(i, best)
		}
	}
	return hosts
}

// pair is the speed of both of two jobs together, where that of turns is 1, if
// it is more, and the option of the first for it; else −1.
func (g *Gandiva) pair(q *queue, i, host int) (speed float64, option int) {
	a, b := &q.state.Jobs[i], &q.state.Jobs[host]
	use := q.use(host)
	if use == nil || float64(use.GPUs) != size(b) { // it has no GPUs, or more than it asked for
		return 0, -1
	}
	for _, n := range gang(a) {
		if a.Options[n].Use.GPUType != use.GPUType {
			continue
		}
		if x, y := g.together(a, b, use.GPUType); x > 0 && y > 0 && x+y > 1 {
			return x + y, n
		}
	}
	return 0, -1
}

func leastRun(j *allocate.JobState) key { return key{j.History.Ran} }
