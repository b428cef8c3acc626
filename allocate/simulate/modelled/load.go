package modelled

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"knee/data"
	"knee/fit"
	"knee/internal/grouped"
	"knee/predict"
)

// Models are the fitted models of applications, by name. They are safe for
// concurrent use.
type Models struct {
	apps map[string]*app
}

// app is one application: its model, and its measured step times.
type app struct {
	name     string
	model    *fit.Model
	predict  *predict.Predictor
	measured map[string]float64 // seconds per step, by configuration
	only     []data.Config      // if not nil, jobs run only these, see [Models.Measure]
	oracle   bool               // policies know the true speeds
	world    func(data.Config) (float64, error)

	mu    sync.Mutex
	truth map[string]float64 // goodput by configuration
}

// Load reads every model in a folder, *.json as knee fit writes them. The name of an
// application is the job of its model, else the name of the file. seed chooses a sample
// of its posterior.
func Load(dir string, seed int64) (*Models, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	m := &Models{apps: map[string]*app{}}
	for _, file := range files {
		model, err := fit.ReadModel(file)
		if err != nil {
			return nil, err
		}
		name := cmp.Or(model.Job(), strings.TrimSuffix(filepath.Base(file), ".json"))
		if _, twice := m.apps[name]; twice {
			return nil, &data.InputError{Source: data.Source{File: file}, Found: fmt.Sprintf("a second model of job %q", name), Want: "one model of each job in " + dir}
		}
		m.add(name, model, nil, seed)
	}
	if len(m.apps) == 0 {
		return nil, &data.InputError{Source: data.Source{File: dir}, Found: "no models", Want: "*.json, as knee fit writes them"}
	}
	return m, nil
}

// Fit fits a model to every job of a table of measurements. The true speed of a
// measured configuration is the measured one, of others a sample of the posterior.
func Fit(ctx context.Context, file string, seed int64) (m *Models, warnings []string, err error) {
	by, warnings, err := byJob(file)
	if err != nil {
		return nil, nil, err
	}
	m = &Models{apps: map[string]*app{}}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		model, err := fit.FitContext(ctx, by[name], fit.Settings{Seed: seed})
		if err != nil {
			return nil, nil, err
		}
		sum, _ := steps(model, by[name])
		m.add(name, model, sum, seed)
	}
	return m, warnings, nil
}

// Measure takes true speeds from a table of measurements: jobs run only measured
// configurations. With oracle policies know the measured speeds, in place of the
// predictions of the models.
func (m *Models) Measure(file string, oracle bool) (warnings []string, err error) {
	by, warnings, err := byJob(file)
	if err != nil {
		return nil, err
	}
	for _, name := range m.names() {
		a := m.apps[name]
		if a.measured, a.only = steps(a.model, by[name]); len(a.only) == 0 {
			return nil, &data.InputError{Source: data.Source{File: file, Column: "job"}, Found: "no measurement of job " + name, Want: "some of every model"}
		}
		a.oracle = oracle
	}
	return warnings, nil
}

func byJob(file string) (by map[string][]data.Measurement, warnings []string, err error) {
	all, warnings, err := data.LoadMeasurements(file)
	_, by = grouped.By(all, func(x data.Measurement) string { return x.Job })
	return by, warnings, err
}

// steps is the mean step time of every measured configuration, and their list.
func steps(model *fit.Model, all []data.Measurement) (mean map[string]float64, configs []data.Config) {
	mean, count := map[string]float64{}, map[string]float64{}
	for _, x := range all {
		c, err := model.Resolve(x.Config)
		if err != nil || x.Status != data.OK {
			continue
		}
		if len(c.Placement) == 0 { // nodes alone mean an even placement, as for the model
			c.Placement = data.EvenPlacement(c.Workers, c.Nodes)
		}
		k := key(c)
		if count[k] == 0 {
			configs = append(configs, c)
		}
		count[k]++
		mean[k] += (x.StepTime - mean[k]) / count[k]
	}
	return mean, configs
}

func (m *Models) add(name string, model *fit.Model, measured map[string]float64, seed int64) {
	h := fnv.New64a()
	h.Write([]byte(name))
	m.apps[name] = &app{name: name, model: model, predict: &predict.Predictor{Model: model, Batch: model.Batch(), Accumulate: model.Batch().Adapt}, measured: measured,
		world: model.World(seed + int64(h.Sum64()>>1)), truth: map[string]float64{}}
}

// key identifies a configuration by all that its speed depends on.
func key(c data.Config) string {
	return fmt.Sprint(c.GPUType, c.ModeOrDefault(), c.Workers, c.PS, slices.Sorted(slices.Values(c.Placement)), c.LocalBatch, c.AccumSteps, c.Layout)
}

func (m *Models) names() []string { return slices.Sorted(maps.Keys(m.apps)) }

// goodput is the true one, in samples/s at initial-batch worth: of the model all but the
// step time.
func (a *app) goodput(c data.Config) (float64, error) {
	k := key(c)
	a.mu.Lock()
	defer a.mu.Unlock()
	if v, ok := a.truth[k]; ok {
		return v, nil
	}
	said, err := a.predict.At(c)
	if err != nil {
		return 0, err
	}
	step, ok := a.measured[key(said.Config)]
	if unplaced := said.Config; !ok && len(unplaced.Placement) == 1 { // a row may leave out that it is of one node
		unplaced.Placement = nil
		step, ok = a.measured[key(unplaced)]
	}
	if !ok {
		if step, err = a.world(c); err != nil {
			return 0, err
		}
	}
	v := said.Config.SamplesPerStep() / step
	if e := said.Efficiency.Mean; e > 0 {
		v *= e
	}
	a.truth[k] = v
	return v, nil
}
