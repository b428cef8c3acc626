package fit

import (
	"context"
	"maps"
	"slices"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
	"knee/fit/memory"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/internal/quantile"
)

// Auto is the family setting that chooses the family by mode.
const Auto = speed.Auto

// Settings controls [Fit].
type Settings = speed.Settings

// Prediction is the step time of a configuration.
type Prediction = speed.Prediction

// Model is the model of one job, the contents of model.json. Make it with [Fit]
// or [ReadModel]. It is safe for concurrent use except with [Model.AddCurve]
// and [Model.Compare].
type Model struct {
	*speed.Model
	file modelFile // all but the speed
}

// Fit fits a model to the measurements of one job; see [speed.Fit].
func Fit(ms []data.Measurement, s Settings) (*Model, error) {
	return FitContext(context.Background(), ms, s)
}

// FitContext is [Fit] with a context: if ctx ends, it fails with its error.
func FitContext(ctx context.Context, ms []data.Measurement, s Settings) (*Model, error) {
	m, err := speed.Fit(ctx, ms, s)
	if err != nil {
		return nil, err
	}
	out := &Model{m, modelFile{Job: m.Job(), Seed: s.Seed, Memory: memoryOf(ms, s.Seed), Start: medianStart(ms), Prices: pricesOf(ms)}}
	if out.file.Memory != nil && slices.ContainsFunc(ms, func(m data.Measurement) bool { return m.EP > 1 && m.Experts == 0 }) {
		out.file.Warnings = append(out.file.Warnings, "memory over ep is known from measured peaks alone, without the number of experts (column experts)")
	}
	return out, nil
}

// memoryOf fits the memory model if a measurement with a batch has a peak, a size of the
// model, or status oom: those that only fit, or without a batch, say too little.
func memoryOf(ms []data.Measurement, seed int64) *memory.Model {
	for _, m := range ms {
		if m.LocalBatch > 0 && (m.PeakMemory > 0 || m.Status == data.OOM || !m.Architecture.Zero()) {
			return memory.Fit(ms, data.Architecture{}, seed)
		}
	}
	return nil
}

// AllMeasurements returns the measurements in the model.
func (m *Model) AllMeasurements() (all []data.Measurement) {
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			all = append(all, m.Measurements(gpu, mode)...)
		}
	}
	return all
}

// Memory returns the memory model, nil if none was fitted.
func (m *Model) Memory() *memory.Model { return m.file.Memory }

// For returns the model of the same job at another size; see [speed.Model.For].
func (m *Model) For(a data.Architecture) *Model {
	if a.Zero() {
		return m
	}
	out := *m
	out.Model = m.Model.For(a)
	if m.file.Memory != nil {
		out.file.Memory = m.file.Memory.For(a)
	}
	return &out
}

// medianStart is the median of the measured start-up times, s; 0 without any.
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
	return quantile.Median(all)
}

// StartSeconds returns the median time from launching the job to its first
// step, s, a lower bound of the cost of a restart; 0 if not measured.
func (m *Model) StartSeconds() float64 { return m.file.Start }

// pricesOf returns the median measured price of a worker by GPU type, US$ per hour.
func pricesOf(ms []data.Measurement) map[string]float64 {
	all, out := map[string][]float64{}, map[string]float64{}
	for _, m := range ms {
		if m.PricePerHour > 0 {
			all[m.GPUType] = append(all[m.GPUType], m.PricePerHour/float64(m.Workers))
		}
	}
	for t, prices := range all {
		out[t] = quantile.Median(prices)
	}
	return out
}

// Prices returns US$ per hour of a worker by GPU type: those given, else the measured ones.
func (m *Model) Prices(given map[string]float64) map[string]float64 {
	all := map[string]float64{}
	maps.Copy(all, m.file.Prices)
	maps.Copy(all, given)
	return all
}

// SpeedOf returns the speed models of several jobs, for Settings.Others.
func SpeedOf(models []*Model) []*speed.Model {
	all := make([]*speed.Model, len(models))
	for i, m := range models {
		all[i] = m.Model
	}
	return all
}

// FamilyNames returns the registered speed families, sorted.
func FamilyNames() []string { return form.FamilyNames() }

// Warnings returns warnings of the fit, such as of measurements left out.
func (m *Model) Warnings() []string { return slices.Concat(m.Model.Warnings(), m.file.Warnings) }

// Compare scores every speed family, and warns if another than that in use is far better.
func (m *Model) Compare(ctx context.Context) ([]speed.FamilyScore, error) {
	scores, err := m.Families(ctx)
	if err != nil {
		return nil, err
	}
	for _, doubt := range speed.Doubts(scores) {
		if !slices.Contains(m.file.Warnings, doubt) {
			m.file.Warnings = append(m.file.Warnings, doubt)
		}
	}
	return scores, nil
}

// Batch returns the batch limits given with the training curve.
func (m *Model) Batch() data.Batch { return m.file.Batch }

// Convergence returns the fitted training curve, nil without one.
func (m *Model) Convergence() *convergence.Curve { return m.file.Convergence }

// NoiseScale returns the fitted gradient noise scale, nil if unknown.
func (m *Model) NoiseScale() *gradnoise.Scale { return m.file.NoiseScale }
