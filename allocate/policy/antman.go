package policy

import "slices"

// antman runs opportunistic jobs on GPUs that others leave (Xiao et al., OSDI 2020, section
// 4). The others are served by submission, with the gang they asked for. Opportunistic jobs
// get idle GPUs until another job needs them. If none is idle they share the GPUs of the job
// that is slowed least, if both together are faster than in turns. Simplified, see
// docs/policies.md.
func antman(q *queue) {
	s := q.state
	serve := func(opportunistic, running, inOrder bool) {
		for _, i := range sorted(s, submitted) {
			j := &s.Jobs[i]
			if j.Opportunistic != opportunistic || q.choice[i] >= 0 || running && j.Current < 0 {
				continue
			}
			if !q.serve(i) && inOrder && len(j.Options) > 0 {
				return
			}
		}
	}
	serve(false, true, false)
	serve(false, false, true)
	serve(true, true, false)
	serve(true, false, false)
	guests := slices.DeleteFunc(q.waiting(submitted), func(i int) bool { return !s.Jobs[i].Opportunistic })
	q.pack(guests, func(_, host float64) float64 { return host })
}
