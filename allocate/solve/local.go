package solve

import (
	"math"

	"knee/allocate"
)

// localWork bounds the local search, in looked-at items: a count and not a
// time, so that the result does not depend on the machine.
const localWork = 3_000_000

// improve changes one job, or one job in favour of another, as long as the
// total rises. It closes most of what one-way greedy steps leave: a job that
// was grown early gives back, a job on a scarce type moves to a plentiful
// one. With mustRun no job is paused.
func (s *selection) improve(mustRun bool) {
	work := localWork
	for changed := true; changed && work > 0; {
		changed = false
		s.grow()
		for a := range s.choice {
			if s.trade(a, mustRun, &work) {
				changed = true
			}
			if work <= 0 {
				return
			}
		}
	}
}

// trade looks for the other choice of job a, together with a choice of one
// more job b, that raises the total most, and makes it.
func (s *selection) trade(a int, mustRun bool, work *int) bool {
	was := s.choice[a]
	best := struct {
		gain    float64
		a, b, c int
	}{gain: s.threshold(), b: allocate.None}
	for x := allocate.None; x < len(s.k.jobs[a].items); x++ {
		if x == was || x == allocate.None && mustRun {
			continue
		}
		loss := s.k.at(a, was) - s.k.at(a, x)
		if !s.fits(a, x) {
			continue
		}
		s.set(a, x)
		if -loss > best.gain {
			best.gain, best.a, best.b = -loss, x, a
		}
		for b := range s.choice {
			if b == a {
				continue
			}
			c, gain := s.rise(b, loss+best.gain, work)
			if gain-loss > best.gain {
				best.gain, best.a, best.b, best.c = gain-loss, x, b, c
			}
		}
		s.set(a, was)
		if *work <= 0 {
			break
		}
	}
	if best.b == allocate.None {
		return false
	}
	s.set(a, best.a)
	if best.b != a {
		s.set(best.b, best.c)
	}
	return true
}

// rise returns the item of job b that fits and is worth most, if it gains
// more than over.
func (s *selection) rise(b int, over float64, work *int) (int, float64) {
	base := s.k.at(b, s.choice[b])
	at, gain := allocate.None, over
	*work -= 1 + len(s.k.jobs[b].items)/4
	for c, it := range s.k.jobs[b].items {
		if g := it.value - base; g > gain && s.fits(b, c) {
			at, gain = c, g
		}
	}
	if at == allocate.None {
		return allocate.None, math.Inf(-1)
	}
	return at, gain
}

// threshold is the smallest gain that counts as one: anything below is
// rounding, and following it could go around in circles.
func (s *selection) threshold() float64 {
	return 1e-12 * (1 + math.Abs(s.value))
}
