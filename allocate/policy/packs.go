package policy

import "knee/allocate"

// packs records which jobs run on the GPUs of others, for policies that share GPUs.
type packs struct {
	beside func(job, beside, gpuType string, workers int) float64
	guests map[int][2]int    // of the last answer
	hosts  map[string]string // of those, by name
}

// Beside sets the function that returns the speed of a job that shares GPUs with
// another, relative to alone, as measured or expected.
func (p *packs) Beside(share func(job, beside, gpuType string, workers int) float64) {
	p.beside = share
}

// Guests returns the jobs that the last answer lets run on the GPUs of another, by
// index in the state: the index of the host, and of the guest's option.
func (p *packs) Guests() map[int][2]int { return p.guests }

// together are the speeds of two jobs on the same GPUs, relative to alone; 0 if
// their sizes differ, or if both together are no faster than in turns.
func (p *packs) together(a, b *allocate.JobState, gpuType string) (ofA, ofB float64) {
	if p.beside == nil || size(a) != size(b) {
		return 0, 0
	}
	n := int(size(a))
	x, y := p.beside(a.Name, b.Name, gpuType, n), p.beside(b.Name, a.Name, gpuType, n)
	if x <= 0 || y <= 0 || x+y <= 1 {
		return 0, 0
	}
	return x, y
}

// before are the guests of the last answer, with their hosts.
func (p *packs) before(s allocate.State) map[int]int {
	at, out := map[string]int{}, map[int]int{}
	for i := range s.Jobs {
		at[s.Jobs[i].Name] = i
	}
	for guest, host := range p.hosts {
		i, there := at[guest]
		if h, too := at[host]; there && too {
			out[i] = h
		}
	}
	return out
}

// pack puts each of some jobs on the GPUs of a served job: its former host if that
// still pays, else the host of largest worth, by the speeds of both.
func (p *packs) pack(q *queue, waiting []int, worth func(guest, host float64) float64) (hosts map[int]bool) {
	before := p.before(q.state)
	hosts, p.guests, p.hosts = map[int]bool{}, map[int][2]int{}, map[string]string{}
	lodge := func(i, host, option int) {
		hosts[host], p.guests[i], p.hosts[q.state.Jobs[i].Name] = true, [2]int{host, option}, q.state.Jobs[host].Name
	}
	for _, i := range waiting {
		if host, packed := before[i]; packed && !hosts[host] {
			if v, option := p.pair(q, i, host, worth); v > 0 {
				lodge(i, host, option)
			}
		}
	}
	for _, i := range waiting {
		if _, packed := p.guests[i]; packed {
			continue
		}
		best, at, most := -1, -1, 0.0
		for host := range q.choice {
			if v, option := p.pair(q, i, host, worth); v > most && !hosts[host] {
				best, at, most = host, option, v
			}
		}
		if best >= 0 {
			lodge(i, best, at)
		}
	}
	return hosts
}

// pair returns the gain of putting job i beside the job host, and which option of
// i that takes; the gain is 0 if i does not fit there.
func (p *packs) pair(q *queue, i, host int, worth func(guest, host float64) float64) (v float64, option int) {
	a, b := &q.state.Jobs[i], &q.state.Jobs[host]
	use := q.use(host)
	if use == nil || float64(use.GPUs) != size(b) { // it has no GPUs, or more than it asked for
		return 0, -1
	}
	for _, n := range gang(a) {
		if a.Options[n].Use.GPUType == use.GPUType {
			if x, y := p.together(a, b, use.GPUType); x > 0 {
				return worth(x, y), n
			}
		}
	}
	return 0, -1
}
