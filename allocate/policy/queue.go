package policy

import (
	"cmp"
	"slices"

	"knee/allocate"
)

// queue serves jobs in order, each with a gang of a fixed size: all of it
// or nothing.
type queue struct {
	state    allocate.State
	capacity *allocate.Capacity
	choice   []int
	used     []float64 // by dimension of the capacity
}

func newQueue(s allocate.State) *queue {
	q := &queue{state: s, capacity: s.Capacity(), choice: slices.Repeat([]int{allocate.None}, len(s.Jobs))}
	q.used = make([]float64, len(q.capacity.Limit))
	return q
}

// serving is a policy without records between decisions.
type serving func(*queue)

// Allocate implements [allocate.Policy].
func (serve serving) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	serve(q)
	return q.assignment(), nil
}

// serve gives job i the fastest option of its requested size that fits, its present
// option if possible, and reports whether there was one.
func (q *queue) serve(i int) bool {
	j := &q.state.Jobs[i]
	if j.Current >= 0 && q.try(i, j.Current) {
		return true
	}
	return q.serveAsked(i)
}

// serveAsked is serve without preference for the present option.
func (q *queue) serveAsked(i int) bool {
	return slices.ContainsFunc(gang(&q.state.Jobs[i]), func(n int) bool { return q.try(i, n) })
}

// drop takes a choice back.
func (q *queue) drop(i int) {
	q.capacity.Add(q.used, q.use(i), -1)
	q.choice[i] = allocate.None
}

// use is what job i was given, nil for nothing.
func (q *queue) use(i int) *allocate.Use {
	if q.choice[i] == allocate.None {
		return nil
	}
	return &q.state.Jobs[i].Options[q.choice[i]].Use
}

// try makes a choice for a job, instead of the one it has, and takes it back if
// it does not fit.
func (q *queue) try(i, n int) bool {
	was := q.choice[i]
	if was != allocate.None {
		q.drop(i)
	}
	q.choice[i] = n
	q.capacity.Add(q.used, q.use(i), 1)
	if q.capacity.Exceeded(q.used) < 0 {
		if !q.state.HasQuotas() {
			return true
		}
		if tenant, _ := q.state.Beyond(q.use); tenant == "" {
			return true
		}
	}
	if q.drop(i); was != allocate.None {
		q.choice[i] = was
		q.capacity.Add(q.used, q.use(i), 1)
	}
	return false
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

// grow raises choices while GPUs are left, each time the one of the largest
// gain from an option to another of more GPUs of its type.
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
				if g := gain(j, now, then); g > best && q.try(i, n) {
					q.try(i, c) // only asked whether it fits
					job, option, best = i, n, g
				}
			}
		}
		if job < 0 {
			return
		}
		q.try(job, option)
	}
}

// fill serves all waiting jobs that fit, by rising key, so that no GPU is idle that
// a job could use.
func (q *queue) fill(of func(*allocate.JobState) key) {
	for _, i := range q.waiting(of) {
		q.serve(i)
	}
}

func (q *queue) assignment() allocate.Assignment {
	return allocate.Assignment{Choice: q.choice}
}

// only is the list of the one option there is.
var only = []int{0}

// gang lists the options of the size a job asked for, fastest first; if it
// left the size open or cannot have it, of the next smaller size it can
// have, else of the smallest.
func gang(j *allocate.JobState) []int {
	if len(j.Options) == 1 {
		return only
	}
	size := 0
	for _, o := range j.Options {
		w := o.Use.GPUs
		switch asked := j.Requested; {
		case size == 0:
			size = w
		case w <= asked && (size > asked || w > size):
			size = w
		case w > asked && size > asked && w < size:
			size = w
		}
	}
	var out []int
	for n, o := range j.Options {
		if o.Use.GPUs == size {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Compare(j.Options[b].Answer.Goodput.Mean, j.Options[a].Answer.Goodput.Mean)
	})
	return out
}

// tryLike makes the choice of the fastest option of a size on a type, what the
// job has now if that is one.
func (q *queue) tryLike(i int, gpuType string, gpus int) bool {
	j := &q.state.Jobs[i]
	like := func(n int) bool { return j.Options[n].Use.GPUType == gpuType && j.Options[n].Use.GPUs == gpus }
	best := -1
	for n := range j.Options {
		if like(n) && (best < 0 || j.Options[n].Answer.Goodput.Mean > j.Options[best].Answer.Goodput.Mean) {
			best = n
		}
	}
	if j.Current >= 0 && like(j.Current) {
		best = j.Current
	}
	return best >= 0 && q.try(i, best)
}

// idle reports whether nobody was served.
func (q *queue) idle() bool {
	return !slices.ContainsFunc(q.choice, func(c int) bool { return c >= 0 })
}
