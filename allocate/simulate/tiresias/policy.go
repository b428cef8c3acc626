package tiresias

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/simulate"
	"knee/data"
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

// Policies lists the names of the policies, as the published program spells
// them: fifo; fjf, first in first out where later jobs may pass one that
// does not fit; sjf, fewest GPUs first; shortest, shortest remaining time;
// shortest-gpu, smallest remaining GPU time; dlas and dlas-gpu, discretized
// least attained service in seconds and in GPU-seconds; dlas-gpu-gittins.
func Policies() []string {
	return []string{"dlas", "dlas-gpu", "dlas-gpu-gittins", "fifo", "fjf", "shortest", "shortest-gpu", "sjf"}
}

// aliases are the names that policies have elsewhere in this project.
var aliases = map[string]string{
	"fifo-backfill": "fjf", "srtf": "shortest", "tiresias-las": "dlas-gpu", "tiresias-gittins": "dlas-gpu-gittins",
}

// Canonical returns the published name of a policy, or false if it is not
// one of this simulator.
func Canonical(name string) (string, bool) {
	name = cmp.Or(aliases[name], name)
	return name, slices.Contains(Policies(), name)
}

// New returns a policy, one of [Policies] or an alias, for one replay. Service is a
// sample of the GPU-seconds that jobs need, in any order, for dlas-gpu-gittins alone.
func New(name string, service []int64) (allocate.Policy, error) {
	name, ok := Canonical(name)
	if !ok {
		return nil, fmt.Errorf("simulate: policy %q is not one of the Tiresias simulator; want one of %s", name, strings.Join(Policies(), ", "))
	}
	p := &published{order: by(waits), blocks: name == "fifo", queues: make([][]*job, 1)}
	switch name {
	case "sjf":
		p.order = by(func(j *job) float64 { return float64(j.Requested) })
	case "shortest":
		p.order = by(func(j *job) float64 { return j.Remaining })
	case "shortest-gpu":
		p.order = by(func(j *job) float64 { return j.Remaining * float64(j.Requested) })
	case "dlas", "dlas-gpu", "dlas-gpu-gittins":
		p.order, p.byGPU, p.queues = nil, name != "dlas", make([][]*job, len(limits)+1)
	}
	if name == "dlas-gpu-gittins" {
		g, err := newGittins(service)
		if err != nil {
			return nil, fmt.Errorf("simulate: dlas-gpu-gittins: %w", err)
		}
		rank := func(j *job) float64 { return g.index(int64(j.service(true))) }
		p.order = func(a, b *job) int {
			return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Submitted, b.Submitted))
		}
	}
	return p, nil
}

// Prepare returns the jobs of a workload as the published program takes them, and the
// pool of GPUs they run on. Durations lose their fraction. It fails if the program cannot
// take a value, or would leave a job out as too large.
func Prepare(workload []simulate.Job, gpus int) ([]simulate.Job, *data.Cluster, error) {
	pool := &data.Cluster{Nodes: []data.Node{{Name: "pool", GPUType: "gpu", GPUs: gpus}}}
	var out []simulate.Job
	for _, w := range workload {
		if err := w.InSeconds(); err != nil {
			return nil, nil, err
		}
		switch {
		case w.Submit != math.Trunc(w.Submit) || !(w.Submit >= 0) || w.Submit > 1e15:
			return nil, nil, w.Bad("submit_s", fmt.Sprint(w.Submit), "whole seconds ≥ 0, which is what this simulator counts in")
		case !(w.Work >= 1) || w.Work > 1e15:
			return nil, nil, w.Bad("duration_s", fmt.Sprint(w.Work), "a duration of at least one second")
		case w.Workers < 1:
			return nil, nil, w.Bad("workers", fmt.Sprint(w.Workers), "at least one GPU")
		case w.Workers > gpus:
			return nil, nil, w.Bad("workers", fmt.Sprint(w.Workers), fmt.Sprintf("at most the %d GPUs of the cluster", gpus))
		}
		w.Work = math.Trunc(w.Work)
		w.Options = simulate.RigidOptions(w, pool)
		out = append(out, w)
	}
	return out, pool, nil
}
