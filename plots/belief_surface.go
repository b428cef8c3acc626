package plots

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"knee/bayesopt"
	"knee/data"
	"knee/fit"
)

// Over describes the belief over two knobs. The search tells what it believes
// on the lines through the best configuration only; off them it is a surrogate
// of the same kind, a Gaussian process on what a law of speed leaves over,
// fitted to the trials of the GPU type and mode of the best configuration.
// Candidates are crossed from those lines. It fails where there is no line.
func (b *Belief) Over(knobX, knobY string) (Surface, error) {
	across, err := b.guided.Slice(b.history, knobX)
	if err != nil {
		return Surface{}, err
	}
	up, err := b.guided.Slice(b.history, knobY)
	if err != nil {
		return Surface{}, err
	}
	g, err := b.surrogate(across.Through)
	if err != nil {
		return Surface{}, err
	}
	spec := Surface{Title: b.title(), Subtitle: "everything but " + knobWords(knobX) + " and " + knobWords(knobY) + " as in " + across.Through.String(),
		XLabel: knobWords(knobX), YLabel: knobWords(knobY), Objective: b.label(), GainLabel: "expected gain (%)"}
	index := map[string]int{}
	for i, c := range b.history.Candidates {
		index[c.Key()] = i
	}
	for _, x := range across.Points {
		for _, y := range up.Points {
			c := joined(across.Through, b.history.Candidates[x.Index], b.history.Candidates[y.Index])
			i, there := index[c.Key()]
			if !there {
				continue // the study rules it out
			}
			cell := g.cell(c)
			cell.X, cell.Y, cell.Next = x.Value, y.Value, b.isNext(i)
			cell.Best = c.Key() == across.Through.Key()
			spec.Cells = append(spec.Cells, cell)
		}
	}
	return spec, nil
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

// surrogate is a Gaussian process over the trials of one GPU type and mode: on
// what a fitted law of speed leaves over of ln step time, or on ln step time
// itself where no law could be fitted.
type surrogate struct {
	*Belief
	trials []data.Measurement
	law    *fit.Model // nil for none
	scale  scaler
	post   *bayesopt.Posterior
	best   float64 // least response among the trials
}

// surrogate learns from the trials of the kind of a configuration.
func (b *Belief) surrogate(kind data.Config) (*surrogate, error) {
	g := &surrogate{Belief: b, best: math.Inf(1)}
	for _, m := range b.history.Measured {
		if m.GPUType == kind.GPUType && m.ModeOrDefault() == kind.ModeOrDefault() {
			g.trials = append(g.trials, m)
		}
	}
	var kin []data.Config
	for _, c := range b.history.Candidates {
		if c.GPUType == kind.GPUType && c.ModeOrDefault() == kind.ModeOrDefault() {
			kin = append(kin, c)
		}
	}
	g.scale = newScaler(kin)
	if law, err := fit.Fit(g.trials, fit.Settings{Seed: b.study.Seed}); err == nil {
		g.law = law
	}
	var x [][]float64
	var y []float64
	for _, m := range g.trials {
		if _, ok := b.guided.Value(m); !ok {
			continue
		}
		x, y = append(x, g.scale.point(m.Config)), append(y, math.Log(m.StepTime)-g.lawOf(m.Config))
		g.best = math.Min(g.best, g.response(m.Config, math.Log(m.StepTime)))
	}
	var err error
	g.post, err = bayesopt.AverageGP(x, y, bayesopt.Prior{Noisy: true}, 0, b.study.Seed)
	return g, err
}

// lawOf is ln step time by the law, 0 if there is none.
func (g *surrogate) lawOf(c data.Config) float64 {
	if g.law == nil {
		return 0
	}
	p, err := g.law.Predict(c)
	if err != nil || !(p.StepTime.Mean > 0) {
		return 0
	}
	return math.Log(p.StepTime.Mean)
}

// value is the objective of a configuration at a ln step time.
func (g *surrogate) value(c data.Config, logTime float64) float64 {
	v, _ := g.guided.Value(data.Measurement{Config: c, StepTime: math.Exp(logTime), Status: data.OK})
	return v
}

// response is the logarithm of the objective, with the sign that makes less
// better: a longer step is always worse.
func (g *surrogate) response(c data.Config, logTime float64) float64 {
	r := math.Log(g.value(c, logTime))
	if g.value(c, logTime+1) < g.value(c, logTime) {
		return -r
	}
	return r
}

// cell is what is believed of one configuration.
func (g *surrogate) cell(c data.Config) SurfaceCell {
	mean, sd := g.post.Predict(g.scale.point(c)).Moments()
	mean += g.lawOf(c)
	cell := SurfaceCell{Mean: g.value(c, mean), Gain: 100 * math.Exp(bayesopt.LogEI(g.response(c, mean), sd, g.best))}
	if cell.Gain < leastGain {
		cell.Gain = 0
	}
	for _, m := range g.trials {
		if m.Key() == c.Key() {
			cell.Failed = (!cell.Tried || cell.Failed) && m.Status != data.OK
			cell.Tried = true
		}
	}
	return cell
}

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
