package pollux

import (
	"cmp"
	"fmt"
	"math"

	"knee/allocate/simulate"
	"knee/allocate/simulate/agent"
	"knee/allocate/simulate/measured"
	"knee/data"
)

// Rules of the published simulator, in seconds.
const (
	round        = 60.0 // between decisions
	restartDelay = 30.0 // without progress after a change of allocation, the first start included
)

// localLimits are the largest local batches of the published simulator that its tables
// exceed.
var localLimits = map[string]float64{"yolov3": 8}

// job implements [simulate.Course]. Times are in seconds.
type job struct {
	simulate.Job
	app   *measured.App
	table *measured.Table

	limits  agent.Limits
	agent   *agent.Agent      // nil under the published policies
	learner *measured.Learner // of the agent

	nodes     []data.NodeShare // in order of being taken, where a published policy chose them
	placement data.Placement
	choice    agent.Choice
	step      float64 // true, at placement and choice
	sync      float64

	progress float64 // in steps of the initial batch
	epoch    int
	delay    float64
	clock    float64
	started  bool
	simulate.Passed
}

func newJob(w simulate.Job, app *measured.App, gpuType string) (*job, error) {
	t, ok := app.Tables[gpuType]
	if !ok {
		return nil, w.Bad("application", w.Application, fmt.Sprintf("an application that was measured on %s", gpuType))
	}
	if w.Workers < 1 {
		return nil, w.Bad("num_replicas", fmt.Sprint(w.Workers), "at least one worker")
	}
	w.Batch = cmp.Or(w.Batch, app.Initial)
	if w.Batch < app.Initial || w.Batch > app.Max {
		return nil, w.Bad("batch_size", fmt.Sprint(w.Batch), fmt.Sprintf("a total batch from %g to %g, as recorded for %s", app.Initial, app.Max, app.Name))
	}
	j := &job{Job: w, app: app, table: t, limits: app.Limits(t)}
	if l, ok := localLimits[app.Name]; ok {
		j.limits.LocalMax = math.Min(l, j.limits.LocalMax)
	}
	return j, nil
}

// workers is how many a published policy has placed.
func (j *job) workers() int { return data.PlacementOf(j.nodes).Workers() }

func (j *job) total() float64 { return j.choice.Batch(j.placement.Workers()) }

// split chooses the batch for the present placement and looks up its true
// times.
func (j *job) split() error {
	k := j.placement.Workers()
	c := agent.Divide(j.Batch, k, j.limits.LocalMax, j.limits.Initial)
	if j.agent != nil {
		c, _ = j.agent.Best(len(j.placement), k)
	}
	c = j.bound(c, k)
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

// bound keeps the total batch of k workers within the largest.
func (j *job) bound(c agent.Choice, k int) agent.Choice {
	c.Local = math.Min(c.Local, math.Floor(j.limits.Max/float64(k*(c.Accum+1))))
	return c
}

// Stand implements [simulate.Course].
func (j *job) Stand(now float64, nodes []data.NodeShare) error {
	j.placement, j.choice, j.step = data.PlacementOf(nodes), agent.Choice{}, 0
	if nodes == nil {
		return nil
	}
	if j.delay = restartDelay; !j.started {
		j.started, j.clock = true, now
	}
	return j.split()
}

// Pass implements [simulate.Course]. The conversions keep sums and products apart
// on machines that would fuse them.
func (j *job) Pass(seconds float64) (simulate.Passed, error) {
	if j.placement == nil {
		j.clock += seconds
		return j.Passed, nil
	}
	k := float64(j.placement.Workers())
	pass := func(t float64) {
		j.clock += t
		j.GPUSeconds += float64(t * k)
		j.Ran += t
		seconds -= t
	}
	wait := math.Min(j.delay, seconds)
	pass(wait)
	j.delay -= wait
	for seconds > 0 && j.End == 0 {
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
				j.End = j.clock + d
			}
			j.progress = next
			pass(d)
		}
		if j.End > 0 {
			break
		}
		if err := j.split(); err != nil {
			return j.Passed, err
		}
	}
	j.clock += seconds
	j.Done = j.progress * j.limits.Initial
	if j.learner != nil {
		j.learner.Done = j.Done
	}
	return j.Passed, nil
}

// goodput is the true one, in steps of the initial batch per second.
func (j *job) goodput() float64 {
	sqr, vr := j.app.Gradient(j.total(), j.epoch)
	gain := measured.Gain(sqr, vr, j.total()/j.app.Initial)
	return gain / (j.step + float64(float64(j.choice.Accum)*(j.step-j.sync)))
}

// observe gives the agent the step time and the gradient.
func (j *job) observe() {
	if j.agent == nil {
		return
	}
	j.agent.Observe(agent.Observation{
		Key:  agent.Key{Nodes: len(j.placement), Workers: j.placement.Workers(), Local: j.choice.Local},
		Step: j.step, Sync: j.sync,
	})
	j.agent.ObserveGradient(j.app.Gradient(j.total(), j.epoch))
}
