package speed

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
	"knee/internal/parallel"
)

// Predict returns the step time of a configuration with its 90 % interval.
//
// Defaults: the GPU type if only one was measured; the mode if only one was
// measured on it, else all-reduce; the typical measured batch; each knob's most
// frequent value; and without placement or nodes, nodes filled up to the widest
// measured. It fails with a *data.InputError for an invalid configuration, and
// for a GPU type, mode or layout that was not measured.
func (m *Model) Predict(c data.Config) (Prediction, error) {
	q, err := m.ask(c)
	if err != nil {
		return Prediction{}, err
	}
	s := spare.Get().(*single)
	defer spare.Put(s)
	if s.of != q.g {
		s.of, s.answering = q.g, answering{}
		s.begin(q.g)
	}
	return q.prediction(&s.sampled, &s.answering), nil
}

// single is room for the draws of single predictions, and the cache of the last group.
type single struct {
	sampled
	answering
	of *group
}

var spare = sync.Pool{New: func() any { return &single{} }}

// LogDensity returns the log predictive density of ln step time of a
// measurement. It fails like [Model.Predict].
func (m *Model) LogDensity(r data.Measurement) (float64, error) {
	q, err := m.ask(r.Config)
	if err != nil {
		return 0, err
	}
	var s sampled
	s.sample(&q, &answering{})
	density := 0.
	for _, post := range q.g.posteriors() {
		for _, d := range post.mine {
			// A t distribution approximates the sum of a normal and a t
			// variate.
			t := distuv.StudentsT{Mu: s.ln[d], Sigma: math.Sqrt(s.variance[d] + q.tiers + sq(s.fresh[d])), Nu: post.tail}
			density += t.Prob(math.Log(r.StepTime)) / float64(len(s.ln))
		}
	}
	return math.Log(density + 1e-12), nil
}

// Batch is a local batch, in samples, and accumulation steps.
type Batch struct {
	Local float64
	Accum int
}

// Central returns the step times of a configuration with other batches at the mode
// of the posterior, in seconds: near the medians of [Model.PredictAll] at a hundredth
// of the cost, to compare many. It fails like [Model.Predict].
func (m *Model) Central(c data.Config, batches []Batch) ([]float64, error) {
	g, _, c, err := m.resolve(c)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(batches))
	memos := map[*posterior]*centralMemo{}
	var p form.Point
	of := func(q *posterior) float64 {
		if memos[q] == nil {
			memos[q] = &centralMemo{}
		}
		return q.central(&p, memos[q])
	}
	for i, b := range batches {
		c.LocalBatch, c.AccumSteps = b.Local, b.Accum
		if err := checkConfig(c, c.Architecture); err != nil {
			return nil, err
		}
		p, _ = g.point(c)
		ln, rest := 0., 1.
		for _, m := range g.members {
			ln += m.share * of(m.post)
			rest -= m.share
		}
		out[i] = math.Exp(ln + rest*of(g.post))
	}
	return out, nil
}

// StepTime returns StepTime.Mean of [Model.Predict], in seconds.
func (m *Model) StepTime(c data.Config) (float64, error) {
	p, err := m.Predict(c)
	return p.StepTime.Mean, err
}

// Resolve returns the configuration with the defaults of [Model.Predict] filled
// in. It fails like Predict.
func (m *Model) Resolve(c data.Config) (data.Config, error) {
	_, _, c, err := m.resolve(c)
	return c, err
}

// question is a resolved configuration.
type question struct {
	at       int // index in the request
	g        *group
	p        form.Point
	effects  []effect         // of what was never measured
	further  float64          // further variance of ln step time, that of effects included
	tiers    float64          // the same, of tiers of the network beyond the measured workers
	newKnob  bool             // a knob measured at one value has another
	least    float64          // s, a lower bound measured; 0 if none
	unlinked prior.Coordinate // ln of the time on links relative to those measured; zero if those are the same
	why      string
	count    int
}

func (m *Model) ask(c data.Config) (question, error) {
	g, t, c, err := m.resolve(c)
	if err != nil {
		return question{}, err
	}
	least := 0.
	if len(g.stops) > 0 {
		least = g.stops[stopKey(c)]
	}
	q := question{g: g, least: least, why: g.ranges[t].outside(c, g.scale.Fixed), count: g.counts[t]}
	var words []string
	q.p, words = g.point(c)
	if g.learned() {
		q.tiers = g.tiers(&q.p)
		r := &g.ranges[t]
		if alone := r.Placed && r.Nodes[1] == 1 && q.p.Nodes > 1; g.family == form.ServerFamily && (alone || !r.Placed && q.p.AskedNodes > 1) {
			q.unlinked = linked(g.prior.Forms[form.CollectiveFamily]["inter_over_intra"], c.GPUType)
		}
		q.effects = g.effects(c, t, words)
		for _, e := range q.effects {
			q.further += e.variance
		}
		q.newKnob = g.newKnob(&q.p)
		step, compute, why := g.resized(c)
		if q.further += sq(step.SD); compute.SD > 0 {
			q.further += sq(compute.SD * (1 - g.onLinks(&q.p)))
		}
		if q.why != "" {
			why = append(why, q.why)
		}
		q.why = strings.Join(why, "; ")
	}
	return q, nil
}

// prediction returns the prediction, with the cache of a goroutine.
func (q *question) prediction(s *sampled, a *answering) Prediction {
	s.sample(q, a)
	expected := s.expected()
	e, median := estimate(s.noisy(q.g))
	if q.newKnob { // the prior says as little of faster as of slower
		e.Mean = median
	}
	if q.tiers > 0 { // independent of the draws: half-widths add in squares
		sd := math.Sqrt(q.tiers) * distuv.UnitNormal.Quantile(.95)
		e.Lo = min(e.Mean, median*math.Exp(-math.Hypot(math.Log(median/e.Lo), sd)))
		e.Hi = max(e.Mean, median*math.Exp(math.Hypot(math.Log(e.Hi/median), sd)))
	}
	e = data.Estimate{Mean: max(e.Mean, q.least), Lo: max(e.Lo, q.least), Hi: max(e.Hi, q.least)}
	median, expected = max(median, q.least), max(expected, q.least)
	return Prediction{StepTime: e, Median: median, Expected: expected, Extrapolated: q.why != "", Support: q.count, Why: q.why}
}

// resolve returns the group of a configuration, its GPU type's index, and the
// configuration with defaults.
func (m *Model) resolve(c data.Config) (*group, int, data.Config, error) {
	if len(c.Placement) > 0 && c.Workers == 0 {
		c.Workers = c.Placement.Workers()
	}
	fail := func(err error) (*group, int, data.Config, error) { return nil, -1, c, err }
	if err := checkConfig(c, c.Architecture.Or(m.Architecture())); err != nil {
		return fail(err)
	}
	types := m.GPUTypes()
	if c.GPUType == "" && len(types) == 1 {
		c.GPUType = types[0]
	}
	modes := m.Modes(c.GPUType)
	if len(modes) == 0 {
		return fail(&data.InputError{Source: data.Source{Column: "gpu_type"}, Found: fmt.Sprintf("%q", c.GPUType),
			Want: "a GPU type that was measured: " + list(types)})
	}
	if c.Mode == "" && len(modes) == 1 {
		c.Mode = modes[0]
	}
	c.Mode = c.ModeOrDefault()
	g, t := m.find(c.GPUType, c.Mode)
	if g == nil {
		names := make([]string, len(modes))
		for i, mode := range modes {
			names[i] = string(mode)
		}
		return fail(&data.InputError{Source: data.Source{Column: "mode"}, Found: fmt.Sprintf("%q on %s", c.Mode, c.GPUType),
			Want: "a mode that was measured there: " + list(names)})
	}
	if g.plain {
		c = plain(c)
	}
	if !c.Plain() && g.family != form.LayoutFamily {
		return fail(&data.InputError{Source: data.Source{Column: "layout"}, Found: c.Layout.String(),
			Want: "plain data parallelism: no other layout was measured"})
	}
	c = g.ranges[t].place(c)
	if c.LocalBatch <= 0 && g.ranges[t].Local[1] > 0 {
		c.LocalBatch = form.NewPoint(c, g.scale).Batch
	}
	c.Architecture = g.asked.Or(c.Architecture).Or(g.arch)
	var err error
	c.Extra, err = g.complete(c.Extra, c.Architecture)
	if len(c.Extra) > 0 {
		size := c.Architecture // a copy, as only then something leaves the stack
		for _, name := range data.ArchitectureNames() {
			if v := c.Extra[name]; v != "" {
				size.SetColumn(name, v)
			}
		}
		c.Architecture = size
	}
	return g, t, c, err
}

// complete fills in unset knobs with those of the network's size, else their most
// frequent values, and refuses invalid numbers.
func (g *group) complete(extra map[string]string, size data.Architecture) (map[string]string, error) {
	if len(g.knobs) == 0 {
		return extra, nil
	}
	full := make(map[string]string, len(g.knobs))
	for k, v := range extra {
		full[k] = v
	}
	for i := range g.knobs {
		k := &g.knobs[i]
		if k.kind != ownKnob {
			continue
		}
		v, ok := full[k.name]
		if !ok {
			if v = size.Column(k.name); v == "" {
				v = k.usual
			}
			if v != "" {
				full[k.name] = v
			}
		}
		if _, known := k.coordinates(nil, v); ok && k.numeric && !known {
			want := "a number, as measured: " + span([2]float64{k.lo, k.hi})
			if k.log {
				want = "a number > 0, as measured: " + span([2]float64{k.lo, k.hi})
			}
			return nil, &data.InputError{Source: data.Source{Column: "x_" + k.name}, Found: fmt.Sprintf("%q", v), Want: want}
		}
	}
	return full, nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}

// Parts returns the parts of a step, in seconds, by the form; ok is false for
// other forms than layout.
func (m *Model) Parts(c data.Config) (l form.LayoutParts, ok bool) {
	q, err := m.ask(c)
	if err != nil {
		return l, false
	}
	return form.LayoutPartsOf(q.g.post.best, &q.p)
}

// Layouts returns the measurements of a GPU type if layouts are part of the model, else nil.
func (m *Model) Layouts(gpuType string) []data.Measurement {
	if g, _ := m.find(gpuType, data.AllReduce); g == nil || g.family != form.LayoutFamily {
		return nil
	}
	return m.Measurements(gpuType, data.AllReduce)
}

// Architecture returns the size of the job's network, zero if unknown.
func (m *Model) Architecture() data.Architecture {
	for _, g := range m.groups {
		if a := g.asked.Or(g.arch); !a.Zero() {
			return a
		}
	}
	return data.Architecture{}
}

// Knob is one of the study's own knobs.
type Knob struct {
	Name    string
	Values  []string // measured, in order of appearance
	Numeric bool
}

// Knobs returns the knobs of a GPU type and mode, sorted by name.
func (m *Model) Knobs(gpuType string, mode data.Mode) []Knob {
	g, _ := m.find(gpuType, mode)
	if g == nil {
		return nil
	}
	var ks []Knob
	for i := range g.knobs {
		k := &g.knobs[i]
		if k.kind != ownKnob {
			continue
		}
		ks = append(ks, Knob{k.name, k.values, k.numeric})
	}
	return ks
}

// PredictAll predicts many configurations, in their order, with the numbers of
// [Model.Predict] up to rounding. It uses all processors, whose number does not
// affect the results, and computes shared terms once. It fails with the error
// of the first configuration that Predict refuses, with its index from 0.
func (m *Model) PredictAll(cs []data.Config) ([]Prediction, error) {
	asked := make([]question, len(cs))
	err := parallel.Each(len(cs), pieceSize, func() func(i int) error {
		return func(i int) error {
			q, err := m.ask(cs[i])
			if err != nil {
				return fmt.Errorf("configuration %d: %w", i, err)
			}
			q.at = i
			asked[i] = q
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]Prediction, len(cs))
	pieces := piecesOf(asked)
	err = parallel.Each(len(pieces), 1, func() func(i int) error {
		a := &answering{}
		return func(i int) error {
			a.answer(&pieces[i], out)
			return nil
		}
	})
	return out, err
}

// ExpectedParts returns a function for the parts of a step on a GPU type
// without measurements, in an arbitrary unit: the form of layouts at its prior
// mean. a is the size of the model, zero if unknown.
func ExpectedParts(gpuType string, a data.Architecture) func(data.Config) form.LayoutParts {
	scale := form.Scale{Batch: 1, Global: 1, Time: 1, Step: 1, Unit: 1}
	f := form.Families()[form.LayoutFamily].New(data.AllReduce, nil, scale, false)
	var theta []float64
	for _, name := range f.Names() {
		theta = append(theta, linked(prior.Default().Forms[form.LayoutFamily][name], gpuType).Mean)
	}
	curve := f.Bind(theta)
	return func(c data.Config) form.LayoutParts {
		p := form.NewPoint(c, scale)
		p.Offsets = form.OffsetsOf(a)
		if gpuType == "cpu" {
			p.Offsets = p.Offsets.OfComputing()
		}
		parts, _ := form.LayoutPartsOf(curve, &p)
		return parts
	}
}
