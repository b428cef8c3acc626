package policy

import (
	"maps"
	"math"
	"slices"

	"knee/allocate"
)

// leases are the times, by job, until which jobs keep what they have.
type leases struct{ until map[string]float64 }

// slice is a time slice in seconds: a minute for every second of a restart, as published for
// one of a second.
func slice(s allocate.State) float64 {
	restart := 1.0
	for i := range s.Jobs {
		restart = math.Max(restart, s.Jobs[i].History.Restart)
	}
	return sliceRound * restart
}

// sliceRound is the time slice of Gandiva in seconds (OSDI 2018, section 4.2).
const sliceRound = 60

// turnOf is when the present turn ends. All jobs share turns, so that gangs of any size can
// follow: GPUs given back one by one would always go to small ones.
func turnOf(now, length float64) (end float64) { return (math.Floor(now/length) + 1) * length }

// during serves the jobs whose leases last, calls serve, and grants leases up to end for
// what it served; the first to end is the next decision. A running job without a known
// lease begins one.
func (l *leases) during(q *queue, end float64, serve func()) {
	s, before := q.state, l.until
	l.until = map[string]float64{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		until, known := before[j.Name]
		if !known {
			until = end
		}
		if j.Current >= 0 && until > s.Now {
			l.until[j.Name] = until
			q.try(i, j.Current)
		}
	}
	serve()
	for i, c := range q.choice {
		if name := s.Jobs[i].Name; c >= 0 && l.until[name] == 0 {
			l.until[name] = end
		}
	}
	q.wake = slices.Min(slices.AppendSeq([]float64{math.Inf(1)}, maps.Values(l.until)))
}
