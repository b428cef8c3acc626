package policy

import (
	"errors"
	"slices"

	"knee/allocate"
	"knee/data"
)

// queue serves jobs in order, each with a gang of a fixed size: all of it
// or nothing.
type queue struct {
	state  allocate.State
	choice []int
	free   map[string]int // GPUs by type; nil where more than GPUs limits
}

func newQueue(s allocate.State) (*queue, error) {
	if s.Cluster == nil {
		return nil, errors.New("policy: the state has no cluster")
	}
	q := &queue{state: s, choice: make([]int, len(s.Jobs))}
	for i := range q.choice {
		q.choice[i] = -1
	}
	if onlyGPUs(s) {
		q.free = freeGPUs(s.Cluster)
	}
	return q, nil
}

// freeGPUs counts the GPUs of every type. Nodes of a type mostly follow each
// other, and a look into the map for each is what a large cluster would pay.
func freeGPUs(c *data.Cluster) map[string]int {
	free := map[string]int{}
	last, count := "", 0
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Drained {
			continue
		}
		if n.GPUType != last {
			free[last] += count
			last, count = n.GPUType, 0
		}
		count += n.GPUs
	}
	free[last] += count
	return free
}

// serve gives job i the fastest option of the size it asked for that still
// fits, where it stands now if it can. It reports whether there was one.
func (q *queue) serve(i int) bool {
	j := &q.state.Jobs[i]
	if j.Current >= 0 && q.try(i, j.Current) {
		return true
	}
	return q.serveAsked(i)
}

// serveAsked is serve without regard to where the job stands.
func (q *queue) serveAsked(i int) bool {
	return slices.ContainsFunc(gang(&q.state.Jobs[i]), func(n int) bool { return q.try(i, n) })
}

// drop takes a choice back.
func (q *queue) drop(i int) {
	if use := &q.state.Jobs[i].Options[q.choice[i]].Use; q.free != nil {
		q.free[use.GPUType] += use.GPUs
	}
	q.choice[i] = -1
}

// try makes a choice for a job that has none, and takes it back if it does
// not fit.
func (q *queue) try(i, n int) bool {
	if q.free != nil {
		use := &q.state.Jobs[i].Options[n].Use
		if use.GPUs > q.free[use.GPUType] {
			return false
		}
		q.free[use.GPUType] -= use.GPUs
		q.choice[i] = n
		return true
	}
	q.choice[i] = n
	if (allocate.Assignment{Choice: q.choice}).Check(q.state) == nil {
		return true
	}
	q.choice[i] = -1
	return false
}

// onlyGPUs reports whether GPUs are all that limits.
func onlyGPUs(s allocate.State) bool {
	for i := range s.Jobs {
		for n := range s.Jobs[i].Options {
			o := &s.Jobs[i].Options[n]
			if o.Use.CPUs != 0 || o.Use.Memory != 0 || o.Use.PSCPUs != 0 || o.Use.PSMemory != 0 {
				return false
			}
		}
	}
	return true
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
		x, y := j.Options[a].Answer.Goodput.Mean, j.Options[b].Answer.Goodput.Mean
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
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
