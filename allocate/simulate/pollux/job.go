package pollux

import (
	"fmt"
	"math"

	"knee/allocate/simulate"
	"knee/allocate/simulate/agent"
	"knee/allocate/simulate/elastic"
	"knee/allocate/simulate/measured"
	"knee/data"
)

// Rules of the published simulator, in seconds.
const (
	round        = 60.0 // between decisions
	restartDelay = 30.0 // without progress after a change of allocation, the first start included
)

// localLimits are the largest local batches of the published simulator that
// are not those of its tables.
var localLimits = map[string]float64{"yolov3": 8}

// job is a job during a replay. Times are in seconds.
type job struct {
	simulate.Job
	index int
	app   *measured.App
	table *measured.Table

	limits  agent.Limits
	agent   *agent.Agent     // nil where nobody models it
	learner *elastic.Learner // of the agent; nil under the published policies

	nodes     []int // node of every worker, in order of being taken; nil if it has none
	placement data.Placement
	choice    agent.Choice
	step      float64 // true, at placement and choice
	sync      float64

	progress float64 // in steps of the initial batch
	epoch    int
	delay    float64
	clock    float64
	attained float64 // GPU-seconds
	ran      float64 // seconds it has held workers
	started  bool
	start    float64
	restarts int
	done     bool
	end      float64
}

func newJob(w simulate.Job, index int, app *measured.App, gpuType string, s scheduler) (*job, error) {
	t, ok := app.Tables[gpuType]
	if !ok {
		return nil, w.Bad("application", w.Application, fmt.Sprintf("an application that was measured on %s", gpuType))
	}
	if w.Workers < 1 {
		return nil, w.Bad("num_replicas", fmt.Sprint(w.Workers), "at least one worker")
	}
	if w.Batch < app.Initial || w.Batch > app.Max {
		return nil, w.Bad("batch_size", fmt.Sprint(w.Batch), fmt.Sprintf("a total batch from %g to %g, as recorded for %s", app.Initial, app.Max, app.Name))
	}
	j := &job{Job: w, index: index, app: app, table: t}
	j.limits = agent.Limits{Initial: app.Initial, Max: app.Max, LocalMin: t.LocalMin, LocalMax: t.LocalMax}
	if l, ok := localLimits[app.Name]; ok {
		j.limits.LocalMax = math.Min(l, j.limits.LocalMax)
	}
	s.prepare(j)
	return j, nil
}

// total is the batch it trains with.
func (j *job) total() float64 { return j.choice.Batch(len(j.nodes)) }

// split chooses the batch for the present placement and looks up its true
// times.
func (j *job) split() error {
	k := len(j.nodes)
	var c agent.Choice
	switch {
	case j.agent == nil:
		c = agent.Divide(j.Batch, k, j.limits.LocalMax, j.limits.Initial)
	case j.limits.Fixed > 0:
		c = agent.Divide(j.limits.Fixed, k, j.limits.LocalMax, j.limits.Initial)
	default:
		c = elastic.First(j.limits, k)
		if j.agent.Ready() {
			if best, g := j.agent.Best(len(j.placement), k); g > 0 {
				c = best
			}
		}
	}
	c.Local = math.Min(c.Local, math.Floor(j.limits.Max/float64(k*(c.Accum+1))))
	if c.Local < 1 {
		return fmt.Errorf("job %q on %d workers: its largest total batch %g leaves less than one sample each", j.Name, k, j.limits.Max)
	}
	if c == j.choice && j.step > 0 {
		return nil
	}
	var err error
	j.choice = c
	j.step, j.sync, err = j.table.Times(j.placement, c.Local)
	return err
}

// reallocate moves the job to the workers of a list of nodes, nil for none.
func (j *job) reallocate(nodes []int) error {
	j.nodes, j.placement, j.choice, j.step = nodes, runs(nodes), agent.Choice{}, 0
	if nodes == nil {
		return nil
	}
	j.delay = restartDelay
	if j.started {
		j.restarts++
	} else {
		j.started, j.start = true, j.clock
	}
	return j.split()
}

// runs are the lengths of runs of equal nodes.
func runs(nodes []int) data.Placement {
	var p data.Placement
	for i, n := range nodes {
		if i == 0 || nodes[i-1] != n {
			p = append(p, 0)
		}
		p[len(p)-1]++
	}
	return p
}

// advance lets seconds pass. The conversions keep sums and products apart on
// machines that would fuse them.
func (j *job) advance(seconds float64) error {
	if len(j.nodes) == 0 {
		j.clock += seconds
		return nil
	}
	k := float64(len(j.nodes))
	pass := func(t float64) {
		j.clock += t
		j.attained += float64(t * k)
		j.ran += t
		seconds -= t
	}
	wait := math.Min(j.delay, seconds)
	pass(wait)
	j.delay -= wait
	for seconds > 0 && !j.done {
		g := j.goodput()
		j.observe()
		next := j.app.Progress(j.epoch + 1)
		if reach := j.progress + float64(g*seconds); reach < next {
			j.progress = reach
			pass(seconds)
		} else {
			j.epoch++
			d := math.RoundToEven((next - j.progress) / g)
			if j.epoch == j.app.Epochs {
				j.done, j.end = true, j.clock+d
				if j.learner != nil {
					j.learner.At(next * j.limits.Initial)
					j.learner.Completed()
				}
			}
			j.progress = next
			pass(d)
		}
		if j.done {
			break
		}
		if err := j.split(); err != nil {
			return err
		}
	}
	j.clock += seconds
	return nil
}

// goodput is the true one, in steps of the initial batch per second.
func (j *job) goodput() float64 {
	sqr, vr := j.app.Gradient(j.total(), j.epoch)
	gain := measured.Gain(sqr, vr, j.total()/j.app.Initial)
	return gain / (j.step + float64(float64(j.choice.Accum)*(j.step-j.sync)))
}

// observe tells the agent what it can see.
func (j *job) observe() {
	if j.agent == nil {
		return
	}
	j.agent.Observe(agent.Observation{
		Key:  agent.Key{Nodes: len(j.placement), Workers: len(j.nodes), Local: j.choice.Local},
		Step: j.step, Sync: j.sync,
	})
	j.agent.ObserveGradient(j.app.Gradient(j.total(), j.epoch))
}
