package main

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"knee/bayesopt"
	"knee/data"
	"knee/fit"
	"knee/plots"
)

// surfaceFigure draws a belief over two knobs of a study.
func surfaceFigure(path, alongX, alongY string, ms []data.Measurement) (plots.Figure, error) {
	s, err := newSearched(path, ms)
	if err != nil {
		return nil, err
	}
	across, err := s.guided.Along(s.history, alongX)
	if err != nil {
		return nil, err
	}
	up, err := s.guided.Along(s.history, alongY)
	if err != nil {
		return nil, err
	}
	belief, err := s.belief(across.Through)
	if err != nil {
		return nil, err
	}
	spec := plots.Surface{Title: s.title(), Subtitle: "everything but " + knobWords(alongX) + " and " + knobWords(alongY) + " as in " + across.Through.String(),
		XLabel: knobWords(alongX), YLabel: knobWords(alongY), Objective: s.label(), GainLabel: "expected gain (%)"}
	index := map[string]int{}
	for i, c := range s.history.Candidates {
		index[c.Key()] = i
	}
	for _, x := range across.Points {
		for _, y := range up.Points {
			c := joined(across.Through, s.history.Candidates[x.Index], s.history.Candidates[y.Index])
			i, there := index[c.Key()]
			if !there {
				continue // the study rules it out
			}
			cell := belief.cell(c)
			cell.X, cell.Y, cell.Next = x.Value, y.Value, s.isNext(i)
			cell.Best = c.Key() == across.Through.Key()
			spec.Cells = append(spec.Cells, cell)
		}
	}
	return plots.NewSurface(spec)
}

// joined returns the configuration a with everything in which b differs from
// the one that both share.
func joined(shared, a, b data.Config) data.Config {
	if b.Workers != shared.Workers || b.NodeCount() != shared.NodeCount() || !slices.Equal(b.Placement, shared.Placement) {
		a.Workers, a.Nodes, a.Placement = b.Workers, b.Nodes, b.Placement
	}
	if b.PS != shared.PS {
		a.PS = b.PS
	}
	if b.LocalBatch != shared.LocalBatch {
		a.LocalBatch = b.LocalBatch
	}
	if b.AccumSteps != shared.AccumSteps {
		a.AccumSteps = b.AccumSteps
	}
	for name, v := range b.Extra {
		if v != shared.Extra[name] {
			a.Extra = maps.Clone(a.Extra)
			a.Extra[name] = v
		}
	}
	return a
}

// belief is a Gaussian process over the trials of one GPU type and mode: on
// what a fitted law of speed leaves over of ln step time, or on ln step time
// itself where no law could be fitted.
type belief struct {
	*searched
	trials []data.Measurement
	law    *fit.Model // nil for none
	scale  scaler
	post   *bayesopt.Posterior
	best   float64 // least response among the trials
}

// belief learns from the trials of the kind of a configuration.
func (s *searched) belief(kind data.Config) (*belief, error) {
	b := &belief{searched: s, best: math.Inf(1)}
	for _, m := range s.history.Measured {
		if m.GPUType == kind.GPUType && m.ModeOrDefault() == kind.ModeOrDefault() {
			b.trials = append(b.trials, m)
		}
	}
	var kin []data.Config
	for _, c := range s.history.Candidates {
		if c.GPUType == kind.GPUType && c.ModeOrDefault() == kind.ModeOrDefault() {
			kin = append(kin, c)
		}
	}
	b.scale = newScaler(kin)
	if law, err := fit.Fit(b.trials, fit.Settings{Seed: s.study.Seed}); err == nil {
		b.law = law
	}
	var x [][]float64
	var y []float64
	for _, m := range b.trials {
		if _, ok := s.guided.Value(m); !ok {
			continue
		}
		x, y = append(x, b.scale.point(m.Config)), append(y, math.Log(m.StepTime)-b.lawOf(m.Config))
		b.best = math.Min(b.best, b.response(m.Config, math.Log(m.StepTime)))
	}
	var err error
	b.post, err = bayesopt.AverageGP(x, y, bayesopt.Prior{Noisy: true}, 0, s.study.Seed)
	return b, err
}

// lawOf is ln step time by the law, 0 if there is none.
func (b *belief) lawOf(c data.Config) float64 {
	if b.law == nil {
		return 0
	}
	p, err := b.law.Predict(c)
	if err != nil || !(p.StepTime.Mean > 0) {
		return 0
	}
	return math.Log(p.StepTime.Mean)
}

// value is the objective of a configuration at a ln step time.
func (b *belief) value(c data.Config, logTime float64) float64 {
	v, _ := b.guided.Value(data.Measurement{Config: c, StepTime: math.Exp(logTime), Status: data.OK})
	return v
}

// response is the logarithm of the objective, with the sign that makes less
// better: a longer step is always worse.
func (b *belief) response(c data.Config, logTime float64) float64 {
	r := math.Log(b.value(c, logTime))
	if b.value(c, logTime+1) < b.value(c, logTime) {
		return -r
	}
	return r
}

// cell is what is believed of one configuration.
func (b *belief) cell(c data.Config) plots.SurfaceCell {
	mean, sd := b.post.Predict(b.scale.point(c)).Moments()
	mean += b.lawOf(c)
	cell := plots.SurfaceCell{Mean: b.value(c, mean), Gain: 100 * math.Exp(bayesopt.LogEI(b.response(c, mean), sd, b.best))}
	if cell.Gain < leastGain {
		cell.Gain = 0
	}
	for _, m := range b.trials {
		if m.Key() == c.Key() {
			cell.Failed = (!cell.Tried || cell.Failed) && m.Status != data.OK
			cell.Tried = true
		}
	}
	return cell
}

// leastGain is the expected gain, in per cent, below which it is none.
const leastGain = 0.01

// scaler maps the knobs of configurations to [0, 1], counts and batches by
// their logarithm.
type scaler struct {
	extra  []string // further knobs that are numbers
	lo, hi []float64
}

func newScaler(all []data.Config) scaler {
	var s scaler
	for _, c := range all {
		for name, v := range c.Extra {
			if _, err := strconv.ParseFloat(v, 64); err == nil && !slices.Contains(s.extra, name) {
				s.extra = append(s.extra, name)
			}
		}
	}
	slices.Sort(s.extra)
	for i, c := range all {
		for k, v := range s.raw(c) {
			if i == 0 {
				s.lo, s.hi = append(s.lo, v), append(s.hi, v)
			}
			s.lo[k], s.hi[k] = min(s.lo[k], v), max(s.hi[k], v)
		}
	}
	return s
}

// raw is the knobs before they are scaled.
func (s scaler) raw(c data.Config) []float64 {
	log := func(v float64) float64 { return math.Log2(max(v, 1)) }
	nodes := float64(max(1, c.NodeCount()))
	out := []float64{log(float64(c.Workers)), log(float64(c.Workers) / nodes), log(float64(c.PS + 1)), log(c.LocalBatch), log(float64(c.AccumSteps + 1))}
	for _, name := range s.extra {
		v, _ := strconv.ParseFloat(c.Extra[name], 64)
		out = append(out, v)
	}
	return out
}

// point is the knobs that vary, scaled.
func (s scaler) point(c data.Config) []float64 {
	var out []float64
	for k, v := range s.raw(c) {
		if s.hi[k] > s.lo[k] {
			out = append(out, (v-s.lo[k])/(s.hi[k]-s.lo[k]))
		}
	}
	return out
}
