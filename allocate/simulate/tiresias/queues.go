package tiresias

import (
	"cmp"
	"slices"
)

// limits are the attained service at which a job leaves the first and the
// second queue. The published program has a third value that it never uses.
var limits = [...]int64{3250, 7200}

// queues is discretized two-dimensional least attained service (Tiresias,
// section 3.3): jobs sink through three queues as they use GPUs, and queues
// are served in order. With a Gittins table jobs of one queue are served by
// index instead of in order of arrival.
type queues struct {
	byGPU   bool // service in GPU-seconds instead of seconds
	gittins *gittins
	q       [len(limits) + 1][]*job
}

func (d *queues) arrive(j *job) { j.queue, d.q[0] = 0, append(d.q[0], j) }

func (d *queues) leave(j *job) { d.drop(j) }

func (d *queues) drop(j *job) {
	d.q[j.queue] = slices.DeleteFunc(d.q[j.queue], func(x *job) bool { return x == j })
}

// account demotes a running job that has used up its queue, by one queue at
// a time; a job that waits is never moved.
func (d *queues) account(j *job, ran bool) {
	service := j.executed
	if d.byGPU {
		service *= j.gpus
	}
	if ran && j.queue < len(limits) && service >= limits[j.queue] {
		d.drop(j)
		j.queue++
		d.q[j.queue] = append(d.q[j.queue], j)
	}
	if d.gittins != nil {
		j.rank = d.gittins.index(j.executed * j.gpus)
	}
}

func (d *queues) order([]*job) []*job {
	var out []*job
	for _, q := range d.q {
		if d.gittins != nil {
			slices.SortStableFunc(q, func(a, b *job) int {
				return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.submit, b.submit))
			})
		}
		out = append(out, q...)
	}
	return out
}

// settled moves the jobs that wait behind those that run, and wakes the
// scheduler when the first running job might have used up its queue. In
// GPU-seconds the published program takes the limit in GPU-seconds, what was
// executed in seconds, and rounds their difference down after dividing by the
// GPUs; it therefore wakes too early or too late, and so does this one.
func (d *queues) settled(now int64) int64 {
	wake := int64(never)
	for i, q := range d.q {
		slices.SortStableFunc(q, func(a, b *job) int { return cmp.Compare(waits(a), waits(b)) })
		if i == len(limits) {
			break
		}
		for _, j := range q {
			if !j.running {
				continue
			}
			left := limits[i] - j.executed
			if d.byGPU {
				left = floorDiv(left, j.gpus)
			}
			wake = min(wake, now+left)
		}
	}
	return wake
}

// floorDiv rounds towards minus infinity.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}
