package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/internal/quantile"
)

// fold is what is left out when a split is scored: its dataset, all of one
// source together; of the parameter-server jobs, which are one dataset, the job.
func (s *split) fold() string {
	switch strings.TrimSuffix(s.dataset, " layouts") {
	case "ps":
		return "ps " + s.name
	case "vtrain-single", "vtrain-multi":
		return "vtrain"
	}
	return strings.TrimSuffix(s.dataset, " layouts")
}

// score is how a split was predicted: absolute relative errors of ours and of
// the rivals, and how many rows lie inside their 90 % intervals.
type score struct {
	*split
	errors map[string][]float64 // by who predicted
	// hits are the rows inside their 90 % intervals, and inside intervals of ln
	// step time that are wider by the factors of wider.
	hits [len(wider)]float64
	bias float64 // mean of ln(predicted/measured)
	// choices are the tables of one number of GPUs from which each picked the
	// fastest layout, and how many of its picks are within 3 % of the best.
	choices, near map[string]float64
	err           error
}

// wider are factors on the width of the intervals: what they would cover tells
// how cautious to be with jobs unlike those that were learned from.
var wider = [...]float64{1, 1.25, 1.5, 2}

// The one who predicts, and the rivals.
const (
	ours    = "knee"
	linear  = "linear"
	power   = "power"
	logGP   = "gp"
	optimus = "optimus"
	ratio   = "ratio"
)

func scoreOf(s *split, pr *prior.Speed) score {
	r := score{split: s, errors: map[string][]float64{}, choices: map[string]float64{}, near: map[string]float64{}}
	m, err := speed.Fit(context.Background(), s.train, speed.Settings{Prior: pr})
	if err != nil {
		return score{split: s, err: err}
	}
	rivals := map[string]func(data.Measurement) float64{}
	rivals[linear], rivals[power] = rulers(s.train)
	if types := gpuTypes(s.train); len(types) == 2 {
		if rivals[ratio], err = oneFactor(s.train, types[0], pr); err != nil {
			return score{split: s, err: err}
		}
	}
	if (len(s.train[0].Extra) > 0 || layouts(s.job)) && len(s.train) >= 8 {
		rivals[logGP] = logProcess(s.train)
	}
	if s.dataset == "ps" {
		if rivals[optimus], err = published(s.train, "optimus-sync"); err != nil {
			return score{split: s, err: err}
		}
	}
	predicted, err := predictions(m, s.test)
	if err != nil {
		return score{split: s, err: err}
	}
	for at, t := range s.test {
		e := predicted[at].StepTime
		r.bias += math.Log(e.Mean/t.StepTime) / float64(len(s.test))
		r.errors[ours] = append(r.errors[ours], math.Abs(e.Mean/t.StepTime-1))
		for i, f := range wider {
			off := math.Log(t.StepTime / e.Mean)
			if f*math.Log(e.Lo/e.Mean) <= off && off <= f*math.Log(e.Hi/e.Mean) {
				r.hits[i]++
			}
		}
		for name, f := range rivals {
			r.errors[name] = append(r.errors[name], math.Abs(f(t)/t.StepTime-1))
		}
	}
	if s.layouts() {
		r.choose(ours, func(i int) float64 { return predicted[i].Median })
		r.choose(measured, func(int) float64 { return math.Inf(1) })
		for name, f := range rivals {
			r.choose(name, func(i int) float64 { return f(s.test[i]) })
		}
	}
	return r
}

// predictions are those of rows, together for each size of the model.
func predictions(m *speed.Model, rows []data.Measurement) ([]speed.Prediction, error) {
	all := make([]speed.Prediction, len(rows))
	of := map[data.Architecture][]int{}
	for i, r := range rows {
		of[r.Architecture] = append(of[r.Architecture], i)
	}
	for a, at := range of {
		var cs []data.Config
		for _, i := range at {
			cs = append(cs, rows[i].Config)
		}
		ps, err := m.For(a).PredictAll(cs)
		if err != nil {
			return nil, err
		}
		for j, i := range at {
			all[i] = ps[j]
		}
	}
	return all, nil
}

// measured picks the best of the rows that were measured.
const measured = "best measured"

// choose picks, for every number of GPUs with several layouts, the row that was
// measured or is predicted fastest.
func (r *score) choose(name string, predict func(row int) float64) {
	type pick struct {
		expected, time, best float64
		layouts              int
	}
	of := map[int]*pick{}
	add := func(t data.Measurement, expected float64) {
		p := of[t.Workers]
		if p == nil {
			p = &pick{math.Inf(1), math.Inf(1), math.Inf(1), 0}
			of[t.Workers] = p
		}
		p.layouts++
		if p.best = min(p.best, t.StepTime); expected < p.expected {
			p.expected, p.time = expected, t.StepTime
		}
	}
	for _, t := range r.train {
		add(t, t.StepTime)
	}
	for i, t := range r.test {
		add(t, predict(i))
	}
	for _, p := range of {
		if p.layouts > 1 {
			r.choices[name]++
			if p.time <= 1.03*p.best {
				r.near[name]++
			}
		}
	}
}

// report prints a line for every dataset and protocol.
func report(w io.Writer, splits []split, p *prior.Speed, verbose bool) error {
	results := make([]score, len(splits))
	each(len(splits), func(i int) { results[i] = scoreOf(&splits[i], p) })
	slices.SortStableFunc(results, func(a, b score) int {
		return cmp.Or(cmp.Compare(a.dataset, b.dataset), cmp.Compare(a.protocol, b.protocol))
	})
	fmt.Fprintf(w, "%-14s %-12s %6s %6s %6s  %-23s  %s\n", "dataset", "protocol", "rows", "mean", "median", fmt.Sprintf("inside ×%v", wider), "rivals' means")
	for len(results) > 0 {
		n := 1
		for n < len(results) && results[n].dataset == results[0].dataset && results[n].protocol == results[0].protocol {
			n++
		}
		line, err := summary(w, results[:n], verbose)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, line)
		results = results[n:]
	}
	return nil
}

// summary is the line of one protocol.
func summary(w io.Writer, of []score, verbose bool) (string, error) {
	all := map[string][]float64{}
	var hits [len(wider)]float64
	for _, r := range of {
		if r.err != nil {
			return "", fmt.Errorf("%s, %s, %s: %w", r.dataset, r.name, r.protocol, r.err)
		}
		for name, e := range r.errors {
			all[name] = append(all[name], e...)
		}
		for i, h := range r.hits {
			hits[i] += h
		}
		if verbose {
			fmt.Fprintf(w, "  %s, %s: %.1f %% (bias %+.0f %%), linear %.1f, power %.1f; %.0f of %d inside\n", r.name, r.protocol,
				100*mean(r.errors[ours]), 100*r.bias, 100*mean(r.errors[linear]), 100*mean(r.errors[power]), r.hits[0], len(r.errors[ours]))
		}
	}
	n := float64(len(all[ours]))
	line := fmt.Sprintf("%-14s %-12s %6.0f %6.1f %6.1f  ", of[0].dataset, of[0].protocol, n, 100*mean(all[ours]), 100*quantile.Median(all[ours]))
	for _, h := range hits {
		line += fmt.Sprintf("%5.1f ", 100*h/n)
	}
	near, choices := map[string]float64{}, map[string]float64{}
	for _, r := range of {
		for name := range r.choices {
			near[name] += r.near[name]
			choices[name] += r.choices[name]
		}
	}
	for _, name := range []string{ours, logGP, measured} {
		if choices[name] > 0 {
			line += fmt.Sprintf(" %s within 3 %%: %.0f of %.0f;", name, near[name], choices[name])
		}
	}
	for _, name := range []string{linear, power, logGP, optimus, ratio} {
		if e := all[name]; e != nil {
			line += fmt.Sprintf(" %s %.1f", name, 100*mean(e))
		}
	}
	return line, nil
}

func mean(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// rulers are linear scaling from the largest size measured and a power law:
// GPU-seconds per sample over the GPUs.
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
	mx, my := mean(x), mean(y)
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	slope := 0.
	if sxx > 0 {
		slope = sxy / sxx
	}
	linear = func(m data.Measurement) float64 { return math.Exp(u) * per(m) }
	power = func(m data.Measurement) float64 {
		return math.Exp(my+slope*(math.Log(float64(m.Workers))-mx)) * per(m)
	}
	return linear, power
}

// published is a published family, fitted as knee fit fits it.
func published(train []data.Measurement, family string) (func(m data.Measurement) float64, error) {
	m, err := speed.Fit(context.Background(), train, speed.Settings{Family: family})
	if err != nil {
		return nil, err
	}
	return func(r data.Measurement) float64 {
		return m.Timer(r.GPUType, r.ModeOrDefault()).StepTime(r.Config)
	}, nil
}

// oneFactor is the model of the first GPU type alone, times the geometric mean
// of what the rows of the second take relative to it.
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

// logProcess is a Gaussian process on the logarithms of all knobs, words as
// categories, with lengths by marginal likelihood.
func logProcess(train []data.Measurement) func(m data.Measurement) float64 {
	train = slices.Clone(train)
	words := map[string][]string{}
	number := func(v string) (float64, bool) {
		x, err := strconv.ParseFloat(v, 64)
		return math.Log(max(x, 1e-9)), err == nil
	}
	for _, r := range train {
		for k, v := range r.Extra {
			if _, ok := number(v); !ok && !slices.Contains(words[k], v) {
				words[k] = append(words[k], v)
			}
		}
	}
	for i := range train {
		train[i] = knobbed(train[i])
	}
	names := []string{}
	for k := range train[0].Extra {
		names = append(names, k)
	}
	slices.Sort(names)
	features := func(m data.Measurement) []float64 {
		m = knobbed(m)
		x := []float64{math.Log(float64(m.Workers)), math.Log(max(m.LocalBatch, 1e-6)), math.Log(float64(m.AccumSteps + 1))}
		for _, k := range names {
			if words[k] == nil {
				v, _ := number(m.Extra[k])
				x = append(x, v)
			}
			for _, w := range words[k] {
				on := 0.
				if m.Extra[k] == w {
					on = 1
				}
				x = append(x, on)
			}
		}
		return x
	}
	return process(train, features)
}

// process fits a Gaussian process to ln step time over features scaled to [0, 1].
func process(train []data.Measurement, features func(data.Measurement) []float64) func(m data.Measurement) float64 {
	var xs [][]float64
	var y []float64
	for _, r := range train {
		xs, y = append(xs, features(r)), append(y, math.Log(r.StepTime))
	}
	lo, hi := slices.Clone(xs[0]), slices.Clone(xs[0])
	for _, x := range xs {
		for j, v := range x {
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	scale := func(x []float64) []float64 {
		for j := range x {
			x[j] = (x[j] - lo[j]) / max(hi[j]-lo[j], 1e-9)
		}
		return x
	}
	for i := range xs {
		xs[i] = scale(xs[i])
	}
	g, err := bayesopt.FitGP(xs, y, bayesopt.Prior{}, 1)
	if err != nil {
		return func(data.Measurement) float64 { return math.NaN() }
	}
	return func(m data.Measurement) float64 {
		v, _ := g.Predict(scale(features(m)))
		return math.Exp(v)
	}
}

// knobbed has a layout as knobs, for rivals that know nothing of layouts.
func knobbed(m data.Measurement) data.Measurement {
	if m.Plain() && m.Extra != nil {
		return m
	}
	m.Extra = maps.Clone(m.Extra)
	if m.Extra == nil {
		m.Extra = map[string]string{}
	}
	for _, name := range data.LayoutNames() {
		m.Extra[name] = m.Get(name)
	}
	if m.Architecture.Known() {
		m.Extra["layers"], m.Extra["hidden"] = strconv.Itoa(m.Layers), strconv.Itoa(m.Hidden)
	}
	m.Layout = data.Layout{}
	return m
}
