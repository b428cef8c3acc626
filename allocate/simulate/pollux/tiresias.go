package pollux

import "slices"

// demotion is the attained service, in GPU-seconds, at which a job leaves the first queue.
const demotion = 57600

// tiresias is Tiresias (Gu et al., NSDI 2019) as the Pollux simulator has it: two queues
// by attained service, gangs as asked for, no promotion; jobs that do not fit are passed
// over.
type tiresias struct {
	queues [2][]*job
	served map[*job]float64 // GPU-seconds of whole rounds, restarts included
}

func (t *tiresias) schedule(active []*job, h *slots) (workers, order []int, err error) {
	t.update(active)
	workers = make([]int, len(active))
	left := h.Slots()
	for _, j := range slices.Concat(t.queues[0], t.queues[1]) {
		if j.Workers <= left {
			left -= j.Workers
			i := slices.Index(active, j)
			workers[i], order = j.Workers, append(order, i)
		}
	}
	return workers, order, nil
}

// update drops the jobs that are done, takes in new ones and demotes.
func (t *tiresias) update(active []*job) {
	for i := range t.queues {
		t.queues[i] = slices.DeleteFunc(t.queues[i], func(j *job) bool { return j.End > 0 })
	}
	for _, j := range active {
		before, known := t.served[j]
		if !known {
			t.queues[0] = append(t.queues[0], j)
		}
		t.served[j] = before + round*float64(j.workers())
		if before < demotion && t.served[j] >= demotion {
			t.queues[0] = slices.DeleteFunc(t.queues[0], func(x *job) bool { return x == j })
			t.queues[1] = append(t.queues[1], j)
		}
	}
}
