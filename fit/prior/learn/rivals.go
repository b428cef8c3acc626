package main

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/internal/grouped"
)

// rivals returns the predictors to compare with on a split.
func (s *split) rivals(p *prior.Speed) (map[string]func(data.Measurement) float64, error) {
	all := map[string]func(data.Measurement) float64{}
	var err error
	if rest := ok(s.train); len(rest) < len(s.train) {
		m, err := speed.Fit(context.Background(), rest, speed.Settings{Prior: p})
		if err != nil {
			return nil, err
		}
		all[leftOut] = func(r data.Measurement) float64 {
			t, err := m.StepTime(r.Config)
			if err != nil {
				return math.NaN()
			}
			return t
		}
		return all, nil
	}
	all[linear], all[power] = rulers(s.train)
	if types := gpuTypes(s.train); len(types) == 2 {
		if all[ratio], err = oneFactor(s.train, types[0], p); err != nil {
			return nil, err
		}
	}
	if (len(s.train[0].Extra) > 0 || layouts(s.job)) && len(s.train) >= 8 {
		all[logGP] = logProcess(s.train)
	}
	if s.dataset == "ps" {
		if all[optimus], err = published(s.train, "optimus-sync"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rulers returns linear scaling from the largest size measured, and a power
// law: GPU-seconds per sample over the GPUs.
func rulers(train []data.Measurement) (linear, power func(m data.Measurement) float64) {
	per := func(m data.Measurement) float64 {
		if g := m.GlobalBatch(); g > 0 {
			return g / float64(m.Workers)
		}
		return 1
	}
	most := 0
	for _, r := range train {
		most = max(most, r.Workers)
	}
	var at, x, y []float64
	for _, r := range train {
		u := math.Log(r.StepTime / per(r))
		if r.Workers == most {
			at = append(at, u)
		}
		x, y = append(x, math.Log(float64(r.Workers))), append(y, u)
	}
	u := mean(at)
	base, slope := stat.LinearRegression(x, y, nil, false)
	if math.IsNaN(slope) { // one size
		base, slope = mean(y), 0
	}
	linear = func(m data.Measurement) float64 { return math.Exp(u) * per(m) }
	power = func(m data.Measurement) float64 {
		return math.Exp(base+slope*math.Log(float64(m.Workers))) * per(m)
	}
	return linear, power
}

// published returns a published family, fitted as by knee fit.
func published(train []data.Measurement, family string) (func(m data.Measurement) float64, error) {
	m, err := speed.Fit(context.Background(), train, speed.Settings{Family: family})
	if err != nil {
		return nil, err
	}
	return func(r data.Measurement) float64 {
		return m.Timer(r.GPUType, r.ModeOrDefault()).StepTime(r.Config)
	}, nil
}

// oneFactor is the model of the first GPU type, times the geometric mean ratio of the second.
func oneFactor(train []data.Measurement, first string, pr *prior.Speed) (func(m data.Measurement) float64, error) {
	own := slices.DeleteFunc(slices.Clone(train), func(m data.Measurement) bool { return m.GPUType != first })
	m, err := speed.Fit(context.Background(), own, speed.Settings{Prior: pr})
	if err != nil {
		return nil, err
	}
	on := func(r data.Measurement) float64 {
		r.GPUType = first
		t, err := m.StepTime(r.Config)
		if err != nil {
			return math.NaN()
		}
		return t
	}
	var factors []float64
	for _, r := range train {
		if r.GPUType != first {
			factors = append(factors, math.Log(r.StepTime/on(r)))
		}
	}
	factor := math.Exp(mean(factors))
	return func(r data.Measurement) float64 { return factor * on(r) }, nil
}

// logProcess returns a Gaussian process on ln step time over the logarithms of all
// knobs, words as categories, each scaled to [0, 1], with lengths by marginal likelihood.
func logProcess(train []data.Measurement) func(m data.Measurement) float64 {
	columns := []func(m data.Measurement) float64{
		func(m data.Measurement) float64 { return math.Log(float64(m.Workers)) },
		func(m data.Measurement) float64 { return math.Log(max(m.LocalBatch, 1e-6)) },
		func(m data.Measurement) float64 { return math.Log(float64(m.AccumSteps + 1)) },
	}
	for _, k := range slices.Sorted(maps.Keys(withKnobs(train[0]).Extra)) {
		value := func(m data.Measurement) string { return withKnobs(m).Extra[k] }
		number := func(m data.Measurement) float64 {
			x, _ := strconv.ParseFloat(value(m), 64)
			return math.Log(max(x, 1e-9))
		}
		values, _ := grouped.By(train, value)
		words := slices.DeleteFunc(values, func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err == nil })
		for _, w := range words {
			columns = append(columns, func(m data.Measurement) float64 {
				if value(m) == w {
					return 1
				}
				return 0
			})
		}
		if len(words) == 0 {
			columns = append(columns, number)
		}
	}
	features := func(m data.Measurement) (x []float64) {
		for _, at := range columns {
			x = append(x, at(m))
		}
		return x
	}
	lo, hi := features(train[0]), features(train[0])
	scaled := func(m data.Measurement) []float64 {
		x := features(m)
		for j := range x {
			x[j] = (x[j] - lo[j]) / max(hi[j]-lo[j], 1e-9)
		}
		return x
	}
	for _, r := range train {
		for j, v := range features(r) {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	var xs [][]float64
	var y []float64
	for _, r := range train {
		xs, y = append(xs, scaled(r)), append(y, math.Log(r.StepTime))
	}
	g, err := bayesopt.FitGP(xs, y, bayesopt.Prior{}, 1)
	if err != nil {
		return func(data.Measurement) float64 { return math.NaN() }
	}
	return func(m data.Measurement) float64 {
		v, _ := g.Predict(scaled(m))
		return math.Exp(v)
	}
}

// withKnobs returns a measurement with its layout as knobs.
func withKnobs(m data.Measurement) data.Measurement {
	if m.Plain() && m.Extra != nil {
		return m
	}
	m = knobbed(m, data.LayoutNames()...)
	if m.Architecture.Known() {
		m.Extra["layers"], m.Extra["hidden"] = strconv.Itoa(m.Layers), strconv.Itoa(m.Hidden)
	}
	return m
}
