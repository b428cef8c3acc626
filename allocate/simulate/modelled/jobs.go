package modelled

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/plan"
	"knee/allocate/simulate"
	"knee/data"
)

// Jobs returns a copy of a workload whose jobs have the options that their models predict
// on a cluster. The work of a job that gives only a duration is what it truly does in
// that time as requested. A restart takes as long as the measured starts. With gang, and
// if it is rigid, a job is offered only the workers and the batch that its owner asked
// for. Later jobs of an application know the speed of the configurations that earlier
// ones ran, unless each is alone.
func (m *Models) Jobs(workload []simulate.Job, c *data.Cluster, gang, alone bool) ([]simulate.Job, error) {
	seen := map[string]map[string]float64{}
	tables := map[string][]allocate.Option{}
	out := make([]simulate.Job, len(workload))
	for i, w := range workload {
		a := m.apps[w.Application]
		if a == nil {
			return nil, w.Bad("application", fmt.Sprintf("%q", w.Application), "an application with a model: "+strings.Join(m.names(), ", "))
		}
		offer := func(gang bool) ([]allocate.Option, error) {
			spec, layout := a.spec(w, gang), w.Layout
			if !gang && !w.FixedLayout {
				layout = nil
			}
			k := fmt.Sprint(w.Application, spec.Workers, spec.Batch, w.Logical, w.GPUType, layout != nil)
			if layout != nil {
				k += fmt.Sprint(*layout)
			}
			if tables[k] == nil {
				var err error
				if a.only != nil {
					tables[k], err = a.candidates(spec, layout, c)
				} else {
					tables[k], err = plan.Options(spec, a.predict, c)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", w.Source, err)
				}
				tables[k] = slices.DeleteFunc(tables[k], func(o allocate.Option) bool {
					return !w.Divides(o.Use.GPUs) || w.GPUType != "" && o.Use.GPUType != w.GPUType
				})
			}
			return tables[k], nil
		}
		options, err := offer(gang || w.Rigid)
		if err != nil {
			return nil, err
		}
		asked := options // what its duration holds for
		if w.Seconds {
			if asked, err = offer(true); err != nil {
				return nil, err
			}
		}
		known := a.model.GPUTypes()
		switch {
		case !slices.ContainsFunc(known, func(t string) bool { return slices.Contains(w.GPUTypes(c), t) }):
			return nil, w.Bad("application", fmt.Sprintf("%q, measured on %s", w.Application, strings.Join(known, ", ")), "one measured on a GPU type of the cluster, "+strings.Join(c.GPUTypes(), " or "))
		case len(options) == 0 && w.Logical > 0:
			return nil, w.Bad("logical_workers", fmt.Sprint(w.Logical), "a number that a size of the job on the cluster divides")
		case len(options) == 0:
			return nil, w.Bad("workers", fmt.Sprint(w.Workers), "a size that fits the cluster")
		}
		if len(asked) == 0 { // the cluster cannot hold what it asks for
			asked = options
		}
		if err := a.work(&w, asked); err != nil {
			return nil, err
		}
		w.RestartSeconds = a.model.StartSeconds()
		if alone || seen[a.name] == nil {
			seen[a.name] = map[string]float64{}
		}
		w.Learner = &learner{app: a, options: options, seen: seen[a.name], left: w.Believed()}
		out[i] = w
	}
	return out, nil
}

// spec bounds the options of a job.
func (a *app) spec(w simulate.Job, gang bool) data.Job {
	j := data.Job{Name: w.Name, Workers: data.IntRange{Min: w.WorkersMin, Max: w.WorkersMax}, Batch: a.model.Batch()}
	j.Batch.Adapt = !gang && w.Logical == 0 && j.Batch.Initial > 0
	if gang {
		n := max(1, w.Workers)
		j.Workers = data.IntRange{Min: n, Max: n}
	}
	if !j.Batch.Adapt && w.Batch > 0 {
		j.Batch = data.Batch{Initial: w.Batch, Max: w.Batch}
	}
	return j
}

// work turns steps or seconds of a job as requested into samples. Steps are of the batch
// that its owner requested, else of the initial batch of its model, whatever a policy
// chooses.
func (a *app) work(w *simulate.Job, options []allocate.Option) error {
	if per := cmp.Or(w.Batch, a.model.Batch().Initial, options[0].Config.GlobalBatch()); w.TotalSteps > 0 && per > 0 {
		declared := per * w.Declared // in steps, unless the work is given in seconds too
		if w.Work > 0 {
			declared = per * w.TotalSteps * w.Declared / w.Work
		}
		w.Work, w.Declared, w.Seconds = w.TotalSteps*per, declared, false
		if w.EndsAt > 0 {
			w.Work, w.Declared = w.Work*w.EndsAt, w.Work
		}
		return nil
	}
	if !w.Seconds {
		return nil
	}
	asked := nearest(options, max(1, w.Workers))
	best, err := a.best(options, func(gpus int) bool { return gpus == asked })
	if err != nil {
		return fmt.Errorf("%s: speed of job %q: %w", w.Source, w.Name, err)
	}
	w.Work, w.Declared, w.Seconds = w.Work*best, w.Declared*best, false
	return nil
}

// best is the true goodput of the fastest option of some sizes.
func (a *app) best(options []allocate.Option, size func(gpus int) bool) (best float64, err error) {
	for _, o := range options {
		if !size(o.Use.GPUs) {
			continue
		}
		v, err := a.goodput(o.Config)
		if err != nil {
			return 0, err
		}
		best = max(best, v)
	}
	return best, nil
}

// nearest is the size among the options that is closest to the requested one.
func nearest(options []allocate.Option, asked int) int {
	away := func(o allocate.Option) int { return max(o.Use.GPUs-asked, asked-o.Use.GPUs) }
	return slices.MinFunc(options, func(a, b allocate.Option) int { return away(a) - away(b) }).Use.GPUs
}

// Truth is the true goodput of jobs made by [Models.Jobs].
func (m *Models) Truth(j *simulate.Job, c data.Config, _ float64) (float64, error) {
	return m.apps[j.Application].goodput(c)
}

// Alone is the seconds that job i of a workload would take at the best on as many GPUs of
// one type.
func (m *Models) Alone(jobs []simulate.Job, i, gpus int) (float64, error) {
	a, l := m.apps[jobs[i].Application], jobs[i].Learner.(*learner)
	least := nearest(l.options, 0)
	best, err := a.best(l.options, func(n int) bool { return n <= max(gpus, least) })
	if err != nil || best == 0 {
		return 0, err
	}
	// A gang larger than the share shares time.
	return jobs[i].Work / best * max(1, float64(least)/float64(gpus)), nil
}

// learner implements [simulate.Learner]: the predictions of a model, and the true speeds
// of the configurations that jobs of the application have run.
type learner struct {
	app     *app
	options []allocate.Option  // as predicted
	seen    map[string]float64 // goodput by configuration
	done    float64
	left    float64 // believed at the start
}

// Observe implements [simulate.Learner].
func (l *learner) Observe(c data.Config, done float64) error {
	l.done = done
	k := key(c)
	if _, known := l.seen[k]; known {
		return nil
	}
	v, err := l.app.goodput(c)
	l.seen[k] = v
	return err
}

// Options implements [simulate.Learner].
func (l *learner) Options(current *data.Config) []allocate.Option {
	out := slices.Clone(l.options)
	for n := range out {
		if v, known := l.seen[key(out[n].Config)]; known {
			out[n].Answer.Goodput, out[n].Answer.Expected = data.Estimate{Mean: v, Lo: v, Hi: v}, 0
		}
	}
	if l.app.only != nil {
		out = fastest(out, current)
	}
	if current == nil || slices.ContainsFunc(out, func(o allocate.Option) bool { return key(o.Config) == key(*current) }) {
		return out
	}
	a, err := l.app.predict.At(*current)
	if err != nil || !(a.Goodput.Mean > 0) {
		return out
	}
	return append(out, simulate.OptionOf(a))
}

// Left implements [simulate.Learner].
func (l *learner) Left() float64 { return max(0, l.left-l.done) }

// Completed implements [simulate.Learner].
func (*learner) Completed() {}

// candidates are the measured configurations that a job may run: those on as few nodes as
// the workers need, with the layout, if one is given; of a job whose batch is fixed with
// that batch, if it was measured.
func (a *app) candidates(job data.Job, layout *data.Layout, c *data.Cluster) ([]allocate.Option, error) {
	gpus := place.Fits(c)
	var out []allocate.Option
	for _, x := range a.only {
		fit, most := gpus[x.GPUType], job.Workers.Max
		if x.Workers > fit.Total() || x.Workers < job.Workers.Min || most > 0 && x.Workers > most ||
			len(x.Placement) > len(fit.Packed(x.Workers)) || layout != nil && x.Layout.String() != layout.String() {
			continue
		}
		answer, err := a.predict.At(x)
		if err != nil {
			return nil, err
		}
		if a.oracle {
			v, err := a.goodput(answer.Config)
			if err != nil {
				return nil, err
			}
			answer.Goodput = data.Estimate{Mean: v, Lo: v, Hi: v}
		}
		out = append(out, simulate.OptionOf(answer))
	}
	own := func(o allocate.Option) bool { return o.Config.GlobalBatch() == job.Batch.Initial }
	if !job.Batch.Adapt && slices.ContainsFunc(out, own) {
		out = slices.DeleteFunc(out, func(o allocate.Option) bool { return !own(o) })
	}
	return out, nil
}

// fastest keeps the option that should be fastest of every number of workers of a GPU
// type, and the one that a job runs, so that GPUs and layout are chosen together.
func fastest(all []allocate.Option, current *data.Config) []allocate.Option {
	beaten := func(o allocate.Option) bool {
		if current != nil && key(o.Config) == key(*current) {
			return false
		}
		return slices.ContainsFunc(all, func(x allocate.Option) bool {
			v, w := x.Answer.Goodput.Mean, o.Answer.Goodput.Mean
			return x.Use.GPUs == o.Use.GPUs && x.Use.GPUType == o.Use.GPUType && (v > w || v == w && key(x.Config) < key(o.Config))
		})
	}
	return slices.DeleteFunc(slices.Clone(all), beaten)
}
