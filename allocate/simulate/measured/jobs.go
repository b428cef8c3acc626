package measured

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/simulate"
	"knee/allocate/simulate/agent"
	"knee/data"
)

// Jobs returns a copy of a workload whose jobs are modelled as they run: each gets its
// work from the recorded training of its application, and a Learner, which learns from
// the jobs of h. With gang, and if it is rigid, a job is offered only the workers and the
// batch that its owner asked for, else the initial batch.
func (p *Profiles) Jobs(workload []simulate.Job, c *data.Cluster, gang bool, h *History) ([]simulate.Job, error) {
	out := make([]simulate.Job, len(workload))
	for i, w := range workload {
		app, err := p.App(w.Application)
		if err != nil {
			return nil, fmt.Errorf("%s: job %q: %w", w.Source, w.Name, err)
		}
		l, err := h.Learner(w, app, c, gang, app.Limits)
		if err != nil {
			return nil, err
		}
		w.Declared, w.Seconds = app.Progress(app.Epochs)*app.Initial, false
		if w.Work = w.Declared; w.EndsAt > 0 {
			w.Work *= w.EndsAt
		}
		w.Learner = l
		out[i] = w
	}
	return out, nil
}

// Truth is the true goodput of jobs made by [Profiles.Jobs].
func (p *Profiles) Truth(j *simulate.Job, c data.Config, done float64) (float64, error) {
	app, err := p.App(j.Application)
	if err != nil {
		return 0, err
	}
	t := app.Tables[c.GPUType]
	if t == nil {
		return 0, fmt.Errorf("%s was not measured on %s", app.Name, c.GPUType)
	}
	return app.Goodput(t, c.Placement, agent.Choice{Local: c.LocalBatch, Accum: c.AccumSteps}, app.epochAt(done/app.Initial))
}

// Learner implements [simulate.Learner] with an agent per GPU type.
type Learner struct {
	app    *App
	types  []string
	gpus   map[string]place.Fit
	Agents map[string]*agent.Agent // of the GPU types that the job can run on: they learn its speed
	job    simulate.Job
	gang   bool    // it only gets the workers asked for
	Done   float64 // samples
	h      *History
}

// Learner returns that of a job, within limits by the table of a GPU type.
func (h *History) Learner(w simulate.Job, app *App, c *data.Cluster, gang bool, within func(*Table) agent.Limits) (*Learner, error) {
	gang = gang || w.Rigid
	l := &Learner{app: app, types: w.GPUTypes(c), gpus: place.Fits(c), Agents: map[string]*agent.Agent{}, job: w, gang: gang, h: h}
	fixed := gang || w.Logical > 0
	if fixed {
		w.Batch = cmp.Or(w.Batch, app.Initial)
		if gang && w.Workers < 1 || w.Batch < app.Initial || w.Batch > app.Max {
			return nil, w.Bad("batch_size", fmt.Sprintf("%d workers and batch %g", w.Workers, w.Batch),
				fmt.Sprintf("at least one worker and a total batch from %g to %g: the job is rigid, or the policy takes jobs as they were asked for", app.Initial, app.Max))
		}
	}
	none := false // a measured type on which no size is possible
	for _, t := range l.types {
		table, all := app.Tables[t], l.gpus[t].Total()
		if table == nil || all == 0 || gang && all < w.Workers {
			continue
		}
		limits := within(table)
		if fixed {
			limits.Fixed = w.Batch
			// Its own batch may be smaller on each worker than was measured.
			limits.LocalMin = math.Min(limits.LocalMin, math.Ceil(w.Batch/float64(max(w.Workers, w.Logical))))
		}
		if l.Agents[t] = (&agent.Agent{Limits: limits, Speeds: h.of(app.Name, t)}); len(l.counts(t)) == 0 {
			none = true
			delete(l.Agents, t)
		}
	}
	switch {
	case len(l.Agents) > 0:
		return l, nil
	case none && w.Logical > 0:
		return nil, w.Bad("logical_workers", strconv.Itoa(w.Logical), "a number that a size of the job on the cluster divides")
	}
	return nil, w.Bad("application", app.Name, "an application measured on a GPU type of which the cluster has enough")
}

// Observe implements [simulate.Learner].
func (l *Learner) Observe(c data.Config, done float64) error {
	l.Done = done
	table, a := l.app.Tables[c.GPUType], l.Agents[c.GPUType]
	if table == nil || a == nil {
		return fmt.Errorf("%s was not measured on %s", l.app.Name, c.GPUType)
	}
	step, sync, err := table.Times(c.Placement, c.LocalBatch)
	if err != nil {
		return err
	}
	a.Observe(agent.Observation{Key: agent.Key{Nodes: len(c.Placement), Workers: c.Workers, Local: c.LocalBatch}, Step: step, Sync: sync})
	sqr, variance := l.app.Gradient(c.GlobalBatch(), l.app.epochAt(done/l.app.Initial))
	for _, a := range l.Agents {
		a.ObserveGradient(sqr, variance)
	}
	return nil
}

// Left implements [simulate.Learner]: the work of the last job of the application, less
// the work done; else that of the epochs left, if they are like those done.
func (l *Learner) Left() float64 {
	if work := l.h.work[l.app.Name]; work > l.Done {
		return work - l.Done
	}
	progress := l.Done / l.app.Initial
	e := l.app.epochAt(progress)
	from, to := l.app.Progress(e), l.app.Progress(e+1)
	share := (float64(e) + (progress-from)/(to-from)) / float64(l.app.Epochs)
	if share <= 0 {
		return 0
	}
	return l.Done * math.Max(0, 1-share) / share
}

// Completed implements [simulate.Learner].
func (l *Learner) Completed() {
	if !l.h.Alone {
		l.h.work[l.app.Name] = l.Done
	}
}

// Options implements [simulate.Learner].
func (l *Learner) Options(current *data.Config) (out []allocate.Option) {
	for _, t := range l.types {
		if l.Agents[t] == nil {
			continue
		}
		for _, k := range l.counts(t) {
			if p := l.gpus[t].Packed(k); p != nil {
				out = append(out, l.option(t, p))
			}
		}
	}
	if current != nil && !slices.ContainsFunc(out, func(o allocate.Option) bool { return place.Same(o.Config, *current) }) {
		out = append(out, l.option(current.GPUType, current.Placement))
	}
	return out
}

// counts are the numbers of workers that are worth offering a job on a type: divisors of
// the GPUs of a node, then whole nodes, each a third to a half more than the one before,
// as less does not pay for a restart; and the least that it can have. Of a job with
// logical workers they are all that divide these.
func (l *Learner) counts(gpuType string) (out []int) {
	if l.gang {
		return []int{l.job.Workers}
	}
	a, node, least := l.Agents[gpuType], l.gpus[gpuType].Widest(), max(1, l.job.WorkersMin)
	most := min(l.gpus[gpuType].Total(), int(a.Max/a.LocalMin), l.app.Tables[gpuType].MaxWorkers)
	if l.job.WorkersMax > 0 {
		most = min(most, l.job.WorkersMax)
	}
	powerOfTwo := func(n int) bool { return n&(n-1) == 0 }
	for k := least; k <= most; k++ {
		n := k / node
		offered := k == least || k < node && node%k == 0 || k%node == 0 && (powerOfTwo(n) || n%3 == 0 && powerOfTwo(n/3))
		if l.job.Logical > 0 {
			offered = l.job.Divides(k)
		}
		if offered {
			out = append(out, k)
		}
	}
	return out
}

func (l *Learner) option(gpuType string, p data.Placement) allocate.Option {
	k := p.Workers()
	choice, goodput := l.expect(gpuType, len(p), k)
	c := data.Config{GPUType: gpuType, Mode: data.AllReduce, Placement: p, Nodes: len(p), Workers: k, LocalBatch: choice.Local, AccumSteps: choice.Accum}
	return simulate.Known(c, goodput)
}

// expect predicts an allocation. For a GPU type without observations the model of another
// type is scaled by the ratio of the speeds of one GPU with its largest batch, which is
// profiled once at submission (Sia, Subramanya et al., SOSP 2023, section 3.2).
func (l *Learner) expect(gpuType string, nodes, k int) (c agent.Choice, goodput float64) {
	a := l.Agents[gpuType]
	if a.Ready() {
		return a.Best(nodes, k)
	}
	from := slices.IndexFunc(l.types, func(t string) bool { return l.Agents[t] != nil && l.Agents[t].Ready() })
	if from < 0 {
		from = slices.IndexFunc(l.types, func(t string) bool { return l.Agents[t] != nil })
	}
	_, goodput = l.Agents[l.types[from]].Best(nodes, k)
	return a.First(k), goodput * (l.lone(gpuType) / l.lone(l.types[from]))
}

// lone is the samples/s of one GPU with its largest batch.
func (l *Learner) lone(gpuType string) float64 {
	t := l.app.Tables[gpuType]
	step, _, err := t.Times(data.Placement{1}, t.LocalMax)
	if err != nil || step <= 0 {
		return 1
	}
	return t.LocalMax / step
}

// History has the observations of jobs by application and GPU type, with which a job
// begins: most jobs of production clusters recur (Weng et al., NSDI 2022).
type History struct {
	Alone bool // every job begins from nothing

	speeds map[[2]string]*agent.Speeds
	work   map[string]float64 // samples of the last job of an application that completed
}

// of are the observations of an application on a GPU type.
func (h *History) of(application, gpuType string) *agent.Speeds {
	key := [2]string{application, gpuType}
	if h.speeds == nil {
		h.speeds, h.work = map[[2]string]*agent.Speeds{}, map[string]float64{}
	}
	if h.Alone || h.speeds[key] == nil {
		h.speeds[key] = &agent.Speeds{}
	}
	return h.speeds[key]
}
