package policy

import (
	"cmp"
	"slices"

	"knee/allocate"
)

// queue is an assignment under construction.
type queue struct {
	*allocate.Tally
	state  allocate.State
	choice []int
	guests map[int]allocate.Guest
	wake   float64 // see [allocate.Assignment]
}

func newQueue(s allocate.State) *queue {
	return &queue{s.Tally(), s, slices.Repeat([]int{allocate.None}, len(s.Jobs)), map[int]allocate.Guest{}, 0}
}

// serving is a policy that serves the jobs of a queue.
func serving(serve func(*queue)) allocate.PolicyFunc {
	return func(s allocate.State) (allocate.Assignment, error) {
		q := newQueue(s)
		serve(q)
		return q.assignment(), nil
	}
}

func (q *queue) assignment() allocate.Assignment {
	return allocate.Assignment{Choice: q.choice, Guests: q.guests, Wake: q.wake}
}

// serve gives job i the fastest option of its requested size that fits, its present
// option if possible, and reports whether there was one.
func (q *queue) serve(i int) bool {
	j := &q.state.Jobs[i]
	return j.Current >= 0 && q.try(i, j.Current) || q.serveAsked(i)
}

// serveAsked is serve without preference for the present option.
func (q *queue) serveAsked(i int) bool { return q.first(i, gang(&q.state.Jobs[i])) }

// first gives job i the first of some options that fits, and reports whether one does.
func (q *queue) first(i int, options []int) bool {
	return slices.ContainsFunc(options, func(n int) bool { return q.try(i, n) })
}

func (q *queue) use(i int) *allocate.Use {
	if q.choice[i] == allocate.None {
		return nil
	}
	return &q.state.Jobs[i].Options[q.choice[i]].Use
}

// set changes the choice of a job, and reports whether that fits.
func (q *queue) set(i, n int) bool {
	q.Add(i, q.use(i), -1)
	q.choice[i] = n
	return q.Add(i, q.use(i), 1) < 0
}

// try changes the choice of a job if the new one fits, and reports whether it does.
func (q *queue) try(i, n int) bool {
	was := q.choice[i]
	ok := q.set(i, n)
	if !ok {
		q.set(i, was)
	}
	return ok
}

// fits reports whether a job could change to option n.
func (q *queue) fits(i, n int) bool {
	was := q.choice[i]
	ok := q.set(i, n)
	q.set(i, was)
	return ok
}

func (q *queue) idle() bool {
	return !slices.ContainsFunc(q.choice, func(c int) bool { return c >= 0 })
}

// waiting lists the jobs that were not served and have options, by rising key.
func (q *queue) waiting(of func(*allocate.JobState) key) []int {
	return slices.DeleteFunc(sorted(q.state, of), func(i int) bool { return q.choice[i] >= 0 || len(q.state.Jobs[i].Options) == 0 })
}

// keep serves every running job its present option.
func (q *queue) keep() {
	for i := range q.state.Jobs {
		if q.state.Jobs[i].Current >= 0 {
			q.serve(i)
		}
	}
}

// fill serves all waiting jobs that fit, by rising key, so that no GPU is idle that
// a job could use.
func (q *queue) fill(of func(*allocate.JobState) key) {
	for _, i := range q.waiting(of) {
		q.serve(i)
	}
}

// grow raises choices while GPUs are left, each time the one of the largest gain from an
// option to one of more GPUs of its type.
func (q *queue) grow(may func(i int) bool, gain func(j *allocate.JobState, now, then *allocate.Option) float64) {
	for {
		job, option, best := -1, -1, 0.0
		for i, c := range q.choice {
			if c < 0 || !may(i) {
				continue
			}
			j := &q.state.Jobs[i]
			now := &j.Options[c]
			for n := range j.Options {
				then := &j.Options[n]
				if then.Use.GPUs <= now.Use.GPUs || then.Use.GPUType != now.Use.GPUType {
					continue
				}
				if g := gain(j, now, then); g > best && q.fits(i, n) {
					job, option, best = i, n, g
				}
			}
		}
		if job < 0 {
			return
		}
		q.set(job, option)
	}
}

// only is the gang of a job with one option.
var only = []int{0}

// gang lists the options of the size a job asked for, fastest first; of a size that it cannot
// have or left open, the next smaller size, else the smallest.
func gang(j *allocate.JobState) []int {
	if len(j.Options) == 1 {
		return only
	}
	size := 0
	for _, o := range j.Options {
		w := o.Use.GPUs
		switch asked := j.Requested; {
		case size == 0, w <= asked && (size > asked || w > size), w > asked && size > asked && w < size:
			size = w
		}
	}
	return ofSize(j, size)
}

// ofSize lists the options of a size, fastest first.
func ofSize(j *allocate.JobState, gpus int) (out []int) {
	for n, o := range j.Options {
		if o.Use.GPUs == gpus {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Compare(j.Options[b].Answer.Goodput.Mean, j.Options[a].Answer.Goodput.Mean)
	})
	return out
}

// tryLike gives a job its present option if that is of a size and type, else the fastest
// of these.
func (q *queue) tryLike(i int, gpuType string, gpus int) bool {
	j := &q.state.Jobs[i]
	like := func(n int) bool { return j.Options[n].Use.GPUType == gpuType && j.Options[n].Use.GPUs == gpus }
	if j.Current >= 0 && like(j.Current) {
		return q.try(i, j.Current)
	}
	of := ofSize(j, gpus)
	n := slices.IndexFunc(of, like)
	return n >= 0 && q.try(i, of[n])
}

// tenant is the owner of a job, the job itself if none is named.
func tenant(j *allocate.JobState) string {
	if j.History.Tenant == "" {
		return "job " + j.Name
	}
	return "tenant " + j.History.Tenant
}

// key orders jobs, lexicographically.
type key [3]float64

func (k key) compare(other key) int { return slices.Compare(k[:], other[:]) }

func submitted(j *allocate.JobState) key { return key{j.Submitted} }

// sorted returns the jobs by rising key, ties in order of submission.
func sorted(s allocate.State, of func(*allocate.JobState) key) []int {
	order, keys := make([]int, len(s.Jobs)), make([]key, len(s.Jobs))
	for i := range order {
		order[i], keys[i] = i, of(&s.Jobs[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(keys[a].compare(keys[b]), cmp.Compare(s.Jobs[a].Submitted, s.Jobs[b].Submitted))
	})
	return order
}

// size is the workers of the gang of a job.
func size(j *allocate.JobState) float64 {
	if g := gang(j); len(g) > 0 {
		return float64(j.Options[g[0]].Use.GPUs)
	}
	return 1
}

func weightOf(j *allocate.JobState) float64 { return cmp.Or(max(0, j.Weight), 1) }

// keeps reports whether an option restarts nothing.
func keeps(j *allocate.JobState, n int) bool { return n == j.Current || j.Options[n].Keeps }
