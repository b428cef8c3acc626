package policy

import "knee/allocate"

// together are the speeds of two jobs on the same GPUs, relative to alone; 0 if their sizes
// differ, or if they are no faster than in turns.
func together(s *allocate.State, a, b int, gpuType string) (ofA, ofB float64) {
	n := size(&s.Jobs[a])
	if s.Beside == nil || n != size(&s.Jobs[b]) {
		return 0, 0
	}
	x, y := s.Beside(a, b, gpuType, int(n)), s.Beside(b, a, gpuType, int(n))
	if x <= 0 || y <= 0 || x+y <= 1 {
		return 0, 0
	}
	return x, y
}

// hosts are the present hosts, by guest.
func hosts(s *allocate.State) map[int]int {
	at, out := map[string]int{}, map[int]int{}
	for i := range s.Jobs {
		at[s.Jobs[i].Name] = i
	}
	for i := range s.Jobs {
		if host, here := at[s.Jobs[i].Host]; here && s.Jobs[i].Host != "" {
			out[i] = host
		}
	}
	return out
}

// pack puts each of some jobs on the GPUs of a served job: its present host if that still
// pays, else that of largest worth, by the speeds of both.
func (q *queue) pack(waiting []int, worth func(guest, host float64) float64) {
	present := hosts(&q.state)
	for _, i := range waiting {
		if host, packed := present[i]; packed && !q.hosting(host) {
			if v, option := q.pair(i, host, worth); v > 0 {
				q.guests[i] = allocate.Guest{Host: host, Option: option}
			}
		}
	}
	for _, i := range waiting {
		if _, packed := q.guests[i]; packed {
			continue
		}
		most := 0.0
		for host := range q.choice {
			if v, option := q.pair(i, host, worth); v > most && !q.hosting(host) {
				q.guests[i], most = allocate.Guest{Host: host, Option: option}, v
			}
		}
	}
}

func (q *queue) hosting(host int) bool {
	for _, g := range q.guests {
		if g.Host == host {
			return true
		}
	}
	return false
}

// pair is the gain of putting job i beside the job host, 0 if it does not fit there, and its
// option.
func (q *queue) pair(i, host int, worth func(guest, host float64) float64) (v float64, option int) {
	a, use := &q.state.Jobs[i], q.use(host)
	if use == nil || float64(use.GPUs) != size(&q.state.Jobs[host]) { // it has no GPUs, or more than it asked for
		return 0, -1
	}
	for _, n := range gang(a) {
		if a.Options[n].Use.GPUType == use.GPUType {
			if x, y := together(&q.state, i, host, use.GPUType); x > 0 {
				return worth(x, y), n
			}
		}
	}
	return 0, -1
}
