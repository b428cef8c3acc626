package policy

import (
	"math"

	"knee/allocate"
)

// leases are the times, by job, until which jobs keep what they have.
type leases struct{ until map[string]float64 }

// slice is the length of a time slice in seconds: a minute for every second of a
// restart. The published minute is for a restart of a second.
func slice(s allocate.State) float64 {
	restart := 1.0
	for i := range s.Jobs {
		restart = math.Max(restart, s.Jobs[i].History.Restart)
	}
	return sliceRound * restart
}

// sliceRound is the time slice of Gandiva in seconds (OSDI 2018, section 4.2).
const sliceRound = 60

// during serves the jobs whose leases last, calls serve, and grants leases for what
// it served.
func (l *leases) during(q *queue, length float64, serve func()) {
	l.hold(q, length)
	serve()
	for i, c := range q.choice {
		if name := q.state.Jobs[i].Name; c >= 0 && l.until[name] == 0 {
			l.until[name] = q.state.Now + length
		}
	}
}

// hold serves the jobs whose leases last and deletes the other leases. A running
// job without a known lease begins one.
func (l *leases) hold(q *queue, length float64) {
	if l.until == nil {
		l.until = map[string]float64{}
	}
	s := q.state
	running := map[string]bool{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Current < 0 {
			continue
		}
		running[j.Name] = true
		if _, known := l.until[j.Name]; !known {
			l.until[j.Name] = s.Now + length
		}
		if l.until[j.Name] > s.Now {
			q.try(i, j.Current)
		}
	}
	for name, until := range l.until {
		if !running[name] || until <= s.Now {
			delete(l.until, name)
		}
	}
}

// Wake returns when the first lease ends.
func (l *leases) Wake(allocate.State, allocate.Assignment) float64 {
	first := math.Inf(1)
	for _, until := range l.until {
		first = math.Min(first, until)
	}
	return first
}
