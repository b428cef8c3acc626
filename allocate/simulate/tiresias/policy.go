package tiresias

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

const never = 1 << 62

// job is one gang. Times are in seconds, service in GPU-seconds.
type job struct {
	name      string
	at        int // in the state
	gpus      int64
	submit    int64
	executed  int64 // seconds it has run
	remaining int64
	running   bool
	queue     int
	rank      float64
}

// limits are the attained service at which a job leaves the first and the
// second queue. The published program has a third value that it never uses.
var limits = [...]int64{quantum, 7200}

// published is a policy of the published program: at every event all jobs compete
// anew for all GPUs, queue by queue. In the discretized policies (Tiresias, section
// 3.3) jobs sink through three queues as they use GPUs; the others have one.
type published struct {
	order   func(a, b *job) int // sorts a queue before it is served; nil: it stays
	blocks  bool                // a job that does not fit blocks those behind it
	byGPU   bool                // service in GPU-seconds instead of seconds
	gittins *gittins

	known  map[string]*job
	queues [][]*job // submitted jobs; sorts are stable and in place, so that ties stay
	wake   int64
}

// Wake returns when a running job may have used up its queue.
func (p *published) Wake(allocate.State, allocate.Assignment) float64 { return float64(p.wake) }

// Allocate implements [allocate.Policy].
func (p *published) Allocate(s allocate.State) (allocate.Assignment, error) {
	p.update(s)
	a := allocate.Assignment{Choice: slices.Repeat([]int{allocate.None}, len(s.Jobs))}
	free, blocked := int64(s.Cluster.Slots()), false
	for _, queue := range p.queues {
		if p.order != nil {
			slices.SortStableFunc(queue, p.order)
		}
		for _, j := range queue {
			if j.running = j.gpus <= free && !blocked; j.running {
				free -= j.gpus
				a.Choice[j.at] = 0
			}
			blocked = blocked || p.blocks && !j.running
		}
	}
	p.settle(int64(s.Now))
	return a, nil
}

// update adds new jobs to the first queue, removes ended ones, and demotes the running
// jobs that have used up their queue, by one queue each.
func (p *published) update(s allocate.State) {
	before := p.known
	p.known = map[string]*job{}
	for i := range s.Jobs {
		x := &s.Jobs[i]
		j := before[x.Name]
		if j == nil {
			j = &job{name: x.Name, gpus: int64(x.Requested), submit: int64(x.Submitted)}
			p.queues[0] = append(p.queues[0], j)
		}
		p.known[x.Name] = j
		j.at, j.executed, j.remaining = i, int64(x.History.Ran), int64(x.Remaining)
	}
	for i := range p.queues {
		p.drop(i, func(j *job) bool { return p.known[j.name] != j })
	}
	for i := range s.Jobs {
		p.account(p.known[s.Jobs[i].Name])
	}
}

func (p *published) drop(queue int, which func(*job) bool) {
	p.queues[queue] = slices.DeleteFunc(p.queues[queue], which)
}

// account demotes a job that has used up its queue, and ranks it.
func (p *published) account(j *job) {
	service := j.executed
	if p.byGPU {
		service *= j.gpus
	}
	if j.running && j.queue < len(p.queues)-1 && service >= limits[j.queue] {
		p.drop(j.queue, func(x *job) bool { return x == j })
		j.queue++
		p.queues[j.queue] = append(p.queues[j.queue], j)
	}
	if p.gittins != nil {
		j.rank = p.gittins.index(j.executed * j.gpus)
	}
}

// settle sorts, where there are several queues, waiting jobs behind running ones, and
// finds when the first running job might have used up its queue. In
// GPU-seconds the published program takes the limit in GPU-seconds, what was executed
// in seconds, and rounds their difference down after dividing by the GPUs; it
// therefore wakes too early or too late, and so does this one.
func (p *published) settle(now int64) {
	p.wake = never
	for i, queue := range p.queues {
		if len(p.queues) > 1 {
			slices.SortStableFunc(queue, by(waits))
		}
		for _, j := range queue {
			if !j.running || i == len(p.queues)-1 {
				continue
			}
			left := limits[i] - j.executed
			if p.byGPU {
				left = int64(math.Floor(float64(left) / float64(j.gpus)))
			}
			p.wake = min(p.wake, now+left)
		}
	}
}

// by orders jobs by a key.
func by(key func(*job) int64) func(a, b *job) int {
	return func(a, b *job) int { return cmp.Compare(key(a), key(b)) }
}

// waits is the key by which running jobs keep running.
func waits(j *job) int64 {
	if j.running {
		return 0
	}
	return 1
}
