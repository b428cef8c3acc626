package fit

import (
	"context"
	"slices"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
	"knee/fit/memory"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/internal/quantile"
)

// Auto is the family setting that chooses by mode.
const Auto = speed.Auto

// Settings controls [Fit]; Prediction is the step time of a configuration.
type (
	Settings   = speed.Settings
	Prediction = speed.Prediction
)

// Model is what is known about one job: the contents of model.json. Make it
// with [Fit] or [ReadModel]; the zero value knows nothing. A Model is safe
// for concurrent use unless [Model.AddCurve] is running.
type Model struct {
	*speed.Model
	seed        int64
	warnings    []string // beyond those of the speed
	convergence *convergence.Curve
	noise       *gradnoise.Scale
	memory      *memory.Model // nil if nothing is known of it
	batch       data.Batch
	start       float64 // median start-up, s
}

// Fit fits a model to the measurements of one job; see [speed.Fit].
func Fit(ms []data.Measurement, s Settings) (*Model, error) {
	return FitContext(context.Background(), ms, s)
}

// FitContext is [Fit] that ends with the error of ctx when that ends.
func FitContext(ctx context.Context, ms []data.Measurement, s Settings) (*Model, error) {
	m, err := speed.Fit(ctx, ms, s)
	if err != nil {
		return nil, err
	}
	return &Model{Model: m, seed: s.Seed, memory: memoryOf(ms, s.Seed), start: medianStart(ms)}, nil
}

// memoryOf fits the memory of a job where something is known of it beyond that
// runs did not run out: a peak, a run that did, or the size of the model.
func memoryOf(ms []data.Measurement, seed int64) *memory.Model {
	for _, m := range ms {
		if m.PeakMemory > 0 || m.Status == data.OOM || !m.Architecture.Zero() {
			return memory.Fit(ms, data.Architecture{}, seed)
		}
	}
	return nil
}

// Memory returns what is known of the memory that a configuration needs, nil
// if nothing is.
func (m *Model) Memory() *memory.Model { return m.memory }

// For returns the model of the same job at another size; see [speed.Model.For].
func (m *Model) For(a data.Architecture) *Model {
	if a.Zero() {
		return m
	}
	out := *m
	out.Model = m.Model.For(a)
	if out.memory = m.memory.For(a); m.memory == nil {
		out.memory = memory.Fit(nil, a, m.seed)
	}
	return &out
}

// medianStart is the median of the start-ups that were measured, 0 if none was.
func medianStart(ms []data.Measurement) float64 {
	var all []float64
	for _, m := range ms {
		if m.StartSeconds > 0 {
			all = append(all, m.StartSeconds)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return quantile.Sorted(all, .5)
}

// StartSeconds returns the median time from launching the job to its first
// step, in seconds, 0 if it was not measured: what a restart costs at least.
func (m *Model) StartSeconds() float64 { return m.start }

// SpeedOf returns the speed models of several jobs, as Settings.Others wants.
func SpeedOf(models []*Model) []*speed.Model {
	all := make([]*speed.Model, len(models))
	for i, m := range models {
		all[i] = m.Model
	}
	return all
}

// FamilyNames returns the registered speed families, sorted.
func FamilyNames() []string { return form.FamilyNames() }

// Warnings returns what a reader of the model should know: fits that did not
// converge, measurements that were left out, what the curve does not say.
func (m *Model) Warnings() []string { return slices.Concat(m.Model.Warnings(), m.warnings) }

// Compare scores every speed family and adds a warning where another than the
// one in use predicts far better.
func (m *Model) Compare(ctx context.Context) ([]speed.FamilyScore, error) {
	scores, err := m.Families(ctx)
	if err != nil {
		return nil, err
	}
	for _, doubt := range speed.Doubts(scores) {
		if !slices.Contains(m.warnings, doubt) {
			m.warnings = append(m.warnings, doubt)
		}
	}
	return scores, nil
}

// Batch returns the batch limits given with the training curve; the zero
// value if there was none.
func (m *Model) Batch() data.Batch { return m.batch }

// Convergence returns the fitted training curve, nil if none was added.
func (m *Model) Convergence() *convergence.Curve { return m.convergence }

// NoiseScale returns the fitted gradient noise scale, nil if unknown.
func (m *Model) NoiseScale() *gradnoise.Scale { return m.noise }
