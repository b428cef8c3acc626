package tiresias

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// job is one gang. Times are whole seconds.
type job struct {
	*allocate.JobState
	at      int // in the state
	running bool
	queue   int
}

// service is what a job has had, in seconds, or by GPU in GPU-seconds.
func (j *job) service(byGPU bool) float64 {
	if byGPU {
		return j.History.Ran * float64(j.Requested)
	}
	return j.History.Ran
}

// limits are the attained service at which a job leaves the first and the
// second queue. The published program has a third value that it never uses.
var limits = [...]float64{quantum, 7200}

// published is a policy of the published program: at every event all jobs compete anew
// for all GPUs, queue by queue. In the discretized policies (Tiresias, section 3.3) jobs
// sink through three queues as they use GPUs; the others have one.
type published struct {
	order  func(a, b *job) int // sorts a queue before it is served; nil: it stays
	blocks bool                // a job that does not fit blocks those behind it
	byGPU  bool                // service in GPU-seconds instead of seconds

	known  map[string]*job
	queues [][]*job // submitted jobs; sorts are stable and in place, so that ties stay
}

// Allocate implements [allocate.Policy].
func (p *published) Allocate(s allocate.State) (allocate.Assignment, error) {
	p.update(s)
	a := allocate.Assignment{Choice: slices.Repeat([]int{allocate.None}, len(s.Jobs))}
	free, blocked := s.Cluster.Slots(), false
	for _, queue := range p.queues {
		if p.order != nil {
			slices.SortStableFunc(queue, p.order)
		}
		for _, j := range queue {
			if j.running = j.Requested <= free && !blocked; j.running {
				free -= j.Requested
				a.Choice[j.at] = 0
			}
			blocked = blocked || p.blocks && !j.running
		}
	}
	a.Wake = p.settle(s.Now)
	return a, nil
}

// update adds new jobs to the first queue, removes ended ones, and demotes the running
// jobs that have used up their queue, by one queue each.
func (p *published) update(s allocate.State) {
	before := p.known
	p.known = map[string]*job{}
	for i := range s.Jobs {
		j := before[s.Jobs[i].Name]
		if j == nil {
			j = &job{}
			p.queues[0] = append(p.queues[0], j)
		}
		j.JobState, j.at = &s.Jobs[i], i
		p.known[j.Name] = j
	}
	for i := range p.queues {
		p.drop(i, func(j *job) bool { return p.known[j.Name] != j })
	}
	for i := range s.Jobs {
		j := p.known[s.Jobs[i].Name]
		if j.running && j.queue < len(p.queues)-1 && j.service(p.byGPU) >= limits[j.queue] {
			p.drop(j.queue, func(x *job) bool { return x == j })
			j.queue++
			p.queues[j.queue] = append(p.queues[j.queue], j)
		}
	}
}

func (p *published) drop(queue int, which func(*job) bool) {
	p.queues[queue] = slices.DeleteFunc(p.queues[queue], which)
}

// settle sorts, where there are several queues, waiting jobs behind running ones, and
// finds when the first running job might have used up its queue. The published program
// takes the limit in GPU-seconds less what was executed in seconds, and rounds after
// dividing by the GPUs; it therefore wakes too early or too late, and so does this one.
func (p *published) settle(now float64) (wake float64) {
	wake = math.Inf(1)
	for i, queue := range p.queues {
		if len(p.queues) > 1 {
			slices.SortStableFunc(queue, by(waits))
		}
		for _, j := range queue {
			if !j.running || i == len(p.queues)-1 {
				continue
			}
			left := limits[i] - j.History.Ran
			if p.byGPU {
				left = math.Floor(left / float64(j.Requested))
			}
			wake = min(wake, now+left)
		}
	}
	return wake
}

func by(key func(*job) float64) func(a, b *job) int {
	return func(a, b *job) int { return cmp.Compare(key(a), key(b)) }
}

// waits is the key by which running jobs keep running.
func waits(j *job) float64 {
	if j.running {
		return 0
	}
	return 1
}
