package pollux

import "slices"

// demotion is the attained service, in GPU-seconds, at which a job leaves
// the first queue.
const demotion = 57600

// tiresias is Tiresias (Gu et al., NSDI 2019) as the Pollux simulator has
// it: two queues by attained service, gangs as asked for, no promotion, and
// whoever fits may pass.
type tiresias struct {
	queues [2][]*job
	known  map[*job]*attendance
}

// attendance is what the scheduler itself keeps of a job.
type attendance struct {
	running  bool
	executed float64 // seconds, restarts included
	checked  float64
	queue    int
}

func (t *tiresias) prepare(*job) {}

func (t *tiresias) schedule(now float64, active []*job, h *slots) ([][]int, error) {
	t.update(now, active)
	left := h.total
	for _, q := range t.queues {
		for _, j := range q {
			t.known[j].running = j.Workers <= left
			if j.Workers <= left {
				left -= j.Workers
			}
		}
	}
	at := map[*job]int{}
	kept := make([][]int, len(active))
	for i, j := range active {
		at[j] = i
		if t.known[j].running {
			kept[i] = j.nodes
		}
	}
	free := h.free(kept)
	for _, q := range t.queues {
		for _, j := range q {
			if i := at[j]; t.known[j].running && kept[i] == nil {
				kept[i] = worstFit(free, j.Workers)
			}
		}
	}
	return kept, nil
}

// update drops the jobs that are done, takes in new ones and demotes.
func (t *tiresias) update(now float64, active []*job) {
	if t.known == nil {
		t.known = map[*job]*attendance{}
	}
	for i := range t.queues {
		t.queues[i] = slices.DeleteFunc(t.queues[i], func(j *job) bool {
			if j.done {
				delete(t.known, j)
			}
			return j.done
		})
	}
	for _, j := range active {
		if t.known[j] == nil {
			t.known[j] = &attendance{checked: now}
			t.queues[0] = append(t.queues[0], j)
		}
	}
	for _, j := range active {
		a := t.known[j]
		if a.running {
			a.executed += now - a.checked
			if a.queue == 0 && a.executed*float64(j.Workers) >= demotion {
				t.queues[0] = slices.DeleteFunc(t.queues[0], func(x *job) bool { return x == j })
				t.queues[1] = append(t.queues[1], j)
				a.queue = 1
			}
		}
		a.checked = now
	}
}
