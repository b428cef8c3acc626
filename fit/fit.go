package fit

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"knee/data"
)

// Fit fits a model to the measurements of one job, one fit per GPU type and
// mode among those with status ok. One measurement is enough.
//
// It fails with a *data.InputError if there is no ok measurement, if they
// are of several jobs, if one holds a value that cannot be, or if the family
// asked for does not describe a mode that was measured. A solver that did
// not converge is reported by [Model.Warnings].
func Fit(ms []data.Measurement, s Settings) (*Model, error) {
	return FitContext(context.Background(), ms, s)
}

// FitContext is [Fit] that ends with the error of ctx when that ends: a fit
// to tens of thousands of measurements takes seconds.
func FitContext(ctx context.Context, ms []data.Measurement, s Settings) (*Model, error) {
	ok, err := usable(ms)
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	m := &Model{job: ok[0].Job, seed: s.Seed}
	parts := split(ok)
	for _, rows := range parts {
		g, err := fitGroup(ctx, rows, s)
		if err != nil {
			return nil, err
		}
		m.groups = append(m.groups, g)
	}
	if err := m.shareTypes(ctx, parts, s); err != nil {
		return nil, err
	}
	for i, g := range m.groups {
		m.warnings = append(m.warnings, g.warnings(parts[i])...)
	}
	return m, nil
}

// shareTypes refits every group of the family collective-typed with the job's
// own other GPU types among those it learns from.
func (m *Model) shareTypes(ctx context.Context, parts [][]data.Measurement, s Settings) error {
	alone := slices.Clone(m.groups)
	for i, g := range alone {
		if len(alone) == 1 || g.stack.form.name() != typed {
			continue
		}
		rest := &Model{job: m.job, groups: slices.Delete(slices.Clone(alone), i, i+1)}
		with := s
		with.Others = append(slices.Clone(s.Others), rest)
		var err error
		if m.groups[i], err = fitGroup(ctx, parts[i], with); err != nil {
			return err
		}
	}
	return nil
}

// knowsOthers says that there is something to borrow.
func (s Settings) knowsOthers() bool {
	return len(s.Others) > 0 || s.Parameters > 0
}

// check refuses sizes that cannot be, naming the setting.
func (s Settings) check() error {
	for _, v := range []struct {
		name  string
		value float64
		want  string
	}{{"interconnect", s.Interconnect, "bytes per second ≥ 0, 0 if unknown"}, {"parameters", s.Parameters, "bytes ≥ 0, 0 if unknown"}} {
		if !(v.value >= 0) || math.IsInf(v.value, 0) {
			return &data.InputError{Source: data.Source{Column: v.name}, Found: fmt.Sprint(v.value), Want: v.want}
		}
	}
	return nil
}

// usable returns the ok measurements and checks that they are of one job.
func usable(ms []data.Measurement) ([]data.Measurement, error) {
	var ok []data.Measurement
	for _, m := range ms {
		if m.Status != data.OK {
			continue
		}
		if err := checkRow(m); err != nil {
			return nil, err
		}
		if len(ok) > 0 && m.Job != ok[0].Job {
			src := m.Source
			src.Column = "job"
			return nil, &data.InputError{Source: src, Found: fmt.Sprintf("%q", m.Job),
				Want: fmt.Sprintf("measurements of one job, as before %q", ok[0].Job)}
		}
		ok = append(ok, m)
	}
	if len(ok) == 0 {
		src := data.Source{Column: "status"}
		if len(ms) > 0 {
			src.File = ms[0].Source.File
		}
		return nil, &data.InputError{Source: src,
			Found: fmt.Sprintf("%d measurements, none of them ok", len(ms)), Want: "at least one with status ok"}
	}
	return ok, nil
}

// split groups measurements by GPU type and mode, in order of appearance.
func split(ms []data.Measurement) [][]data.Measurement {
	type key struct {
		gpu  string
		mode data.Mode
	}
	at := map[key]int{}
	var groups [][]data.Measurement
	for _, m := range ms {
		k := key{m.GPUType, m.ModeOrDefault()}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], m)
	}
	return groups
}

func fitGroup(ctx context.Context, ms []data.Measurement, s Settings) (*group, error) {
	mode := ms[0].ModeOrDefault()
	name, err := familyFor(s.Family, mode)
	if err != nil {
		return nil, err
	}
	if name == "collective" && s.Family != name && s.knowsOthers() {
		name = typed
	}
	g := &group{gpuType: ms[0].GPUType, mode: mode, count: len(ms)}
	ms, g.dropped = screenRepeats(ms)
	g.count = len(ms)
	g.spread = repeats(ms)
	rows, runs := mergeRepeats(ms)
	g.keep(rows, runs, name)
	var start []float64
	if !s.Screened {
		start, err = g.screen(ctx)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.kind(), err)
	}
	if len(g.rows) < len(rows) && len(rows) <= maxRows { // the range without what was left out
		g.keep(g.rows, g.runs, name)
	}
	if name == typed {
		if g.borrowed, err = remember(s, g); err != nil {
			return nil, err
		}
	}
	f, sc, pts, full := g.prepare(name)
	l := layOut(full, pts, f.kernel())
	if auto, _ := familyFor(Auto, mode); name != auto {
		start = nil // of another family, or under another prior
	}
	theta, err := g.settle(f, l, start)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.kind(), err)
	}
	if g.stack, err = newStack(f, sc, theta, l, g.spread, g.seed(s.Seed)); err != nil {
		return nil, fmt.Errorf("%s: %w", g.kind(), err)
	}
	return g, nil
}

// keep sets the rows, thinned out where there are very many, and their range.
func (g *group) keep(rows []data.Measurement, runs []float64, family string) {
	full := withMode(rows, g.mode)
	sc := scaleOf(full).on(g.gpuType)
	pts := pointsOf(full, sc)
	g.hull = hullOf(full, sc)
	g.rows, g.runs = thin(rows, runs, pts, families()[family].make(g.mode, pts, sc).kernel())
}

// settle finds the parameters and the spread of the measurements, each given
// the other: the spread decides how closely the form follows single rows.
// With start given it walks from there only.
func (g *group) settle(f form, l *layout, start []float64) (theta []float64, err error) {
	theta, g.status, err = solve(f, l, g.spread, start)
	if own, _ := l.kernel.own(); err != nil || own == 0 {
		return theta, err
	}
	g.spread = g.spread.infer(f, l, theta)
	if g.spread.Scale == 1 && g.spread.Timers == 0 { // as assumed
		return theta, nil
	}
	theta, g.status, err = solve(f, l, g.spread, theta)
	return theta, err
}

// prepare makes the form of a family for the rows of the group.
func (g *group) prepare(name string) (form, scale, []point, []data.Measurement) {
	full := withMode(g.rows, g.mode)
	sc := scaleOf(full).on(g.gpuType)
	pts := pointsOf(full, sc)
	for i := range g.runs {
		pts[i].runs = g.runs[i]
	}
	f := families()[name].make(g.mode, pts, sc)
	if t, ok := f.(*typedForm); ok {
		t.memory = g.borrowed
	}
	return f, sc, pts, full
}

// withMode returns copies with the mode set: the rows a group keeps leave it out.
func withMode(rows []data.Measurement, mode data.Mode) []data.Measurement {
	full := slices.Clone(rows)
	for i := range full {
		full[i].Mode = mode
	}
	return full
}

// seed gives every group draws of its own, whatever order they come in.
func (g *group) seed(seed int64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%d", g.gpuType, g.mode, seed)
	return h.Sum64()
}

// kind names the group for people.
func (g *group) kind() string { return data.Config{GPUType: g.gpuType, Mode: g.mode}.Kind() }

// warnings says what a reader should know about the fit of the group.
func (g *group) warnings(all []data.Measurement) []string {
	var w []string
	where := g.kind() + ": "
	if g.status != "" {
		w = append(w, where+"the fit of family "+g.stack.form.name()+" did not converge: "+g.status)
	}
	if g.count == 1 {
		w = append(w, where+"fitted to a single measurement; everything else is prior knowledge")
	}
	if len(g.rows) == maxRows && g.count > maxRows {
		w = append(w, fmt.Sprintf("%s%d measurements thinned out to the %d most informative", where, g.count, maxRows))
	}
	for _, d := range g.dropped {
		w = append(w, where+d)
	}
	return append(w, g.extraKnobs(all, where)...)
}

// extraKnobs warns of knobs that were varied although no family has them.
func (g *group) extraKnobs(all []data.Measurement, where string) []string {
	values := map[string]map[string]bool{}
	for _, m := range all {
		for k, v := range m.Extra {
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][v] = true
		}
	}
	var names []string
	for k, v := range values {
		if len(v) > 1 {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	var w []string
	for _, k := range names {
		w = append(w, fmt.Sprintf("%sx_%s takes %d values; the model averages over them", where, k, len(values[k])))
	}
	return w
}
