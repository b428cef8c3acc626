package speed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
)

// Auto is the family setting that chooses by mode: collective for
// [data.AllReduce], ps for [data.PSSync] and [data.PSAsync], layout for
// measurements with layouts.
const Auto = "auto"

// Settings controls [Fit]. The zero value is the default.
type Settings struct {
	Family string // [Auto] (also the empty string) or one of [form.FamilyNames]
	Seed   int64  // of the posterior draws
	// Others are fitted models of other jobs of the same cluster; their links
	// narrow the prior. A job named twice counts once.
	Others []*Model
	// MessageBytes is what one synchronisation moves per worker (4 × the number
	// of parameters in single precision); Interconnect is the bytes/s between
	// two nodes. 0 if unknown.
	MessageBytes float64
	Interconnect float64
	// HeldOut are measurements of the job to predict, not to fit. With them the
	// scale of every knob is that of a fit to all.
	HeldOut []data.Measurement
	// Screened skips the search for outliers, which were left out before.
	Screened bool
	// FormOnly fits only the parametric form: [Model.Timer], without predictions.
	FormOnly      bool
	ignoreLayouts bool
	// Prior replaces [prior.Default]; nil: no replacement.
	Prior *prior.Speed
}

// Prediction is the predicted step time of one configuration.
type Prediction struct {
	StepTime     data.Estimate // seconds per optimizer step; per update of the whole job in ps-async
	Median       float64       // s, of the predictive distribution
	Expected     float64       // s, posterior mean, which exceeds the median where uncertain: to choose by
	Extrapolated bool          // outside the measured range, as Why explains
	Support      int           // measurements of the same GPU type and mode
	Why          string        // the quantities outside the measured range; empty if none
}

// Model is the speed model of one job. Make it with [Fit]; it is safe for
// concurrent use.
type Model struct {
	job      string
	seed     int64
	groups   []*group // by mode; under published families by GPU type too
	warnings []string
}

// Fit fits the ok measurements of one job; one is enough. A run ended by a time limit
// gives a lower bound, which counts if it is above the median prediction.
//
// It fails with a *data.InputError if there is no ok measurement, if they are
// of several jobs, if a value is invalid, or if the family does not support a
// measured mode; and with the error of ctx.
func Fit(ctx context.Context, ms []data.Measurement, s Settings) (*Model, error) {
	ok, err := usable(ms)
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	m := &Model{job: ok[0].Job, seed: s.Seed}
	if m.warnings = ignoreLayouts(ok); m.warnings != nil {
		s.ignoreLayouts = true
	}
	sizes := sizeKnobs(ok)
	data.SizesAsKnobs(ok, sizes)
	s.HeldOut = slices.Clone(s.HeldOut)
	data.SizesAsKnobs(s.HeldOut, sizes)
	stopped := slices.DeleteFunc(slices.Clone(ms), func(m data.Measurement) bool { return m.Status != data.Timeout })
	data.SizesAsKnobs(stopped, sizes)
	for _, part := range parts(ok, s.Family) {
		g, err := newGroup(part, s)
		if err == nil {
			err = g.fit(ctx, s)
		}
		if err == nil && !s.FormOnly {
			err = m.bound(ctx, g, g.lowerBounds(stopped), s.Seed)
		}
		if err != nil {
			return nil, err
		}
		m.groups = append(m.groups, g)
		m.warnings = append(m.warnings, g.warnings()...)
	}
	return m, nil
}

// ignoreLayouts removes all layouts, with a warning, if some measurements have
// one and others do not give theirs.
func ignoreLayouts(ms []data.Measurement) []string {
	unknown, known := 0, 0
	for _, m := range ms {
		if m.Layout.Unknown {
			unknown++
		} else if !m.Plain() {
			known++
		}
	}
	if unknown == 0 || known == 0 {
		return nil
	}
	for i := range ms {
		ms[i].Config = plain(ms[i].Config)
	}
	return []string{fmt.Sprintf("%d of %d measurements do not say their layout (tp, pp), so that it is left out of the fit: every worker counts as a replica", unknown, len(ms))}
}

// plain returns the configuration without layout, the global batch divided
// among all workers.
func plain(c data.Config) data.Config {
	c.LocalBatch *= float64(c.Replicas()) / float64(max(c.Workers, 1))
	c.Layout = data.Layout{}
	return c
}

// parts divides measurements by mode, in order of appearance; under a published
// family, which fits one GPU type, by GPU type as well.
func parts(ms []data.Measurement, family string) [][]data.Measurement {
	type key struct {
		mode data.Mode
		gpu  string
	}
	at := map[key]int{}
	var all [][]data.Measurement
	for _, m := range ms {
		k := key{mode: m.ModeOrDefault()}
		if name, err := familyFor(family, k.mode, !m.Plain()); err == nil && !form.Families()[name].Learned {
			k.gpu = m.GPUType
		}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], m)
	}
	return all
}

// familyFor returns the name of the family to use for a mode; layouts other
// than plain data parallelism need the layout family.
func familyFor(setting string, mode data.Mode, layouts bool) (string, error) {
	if setting == "" || setting == Auto {
		if layouts {
			return form.LayoutFamily, nil
		}
		if mode.UsesPS() {
			return form.ServerFamily, nil
		}
		return form.CollectiveFamily, nil
	}
	f, ok := form.Families()[setting]
	bad := func(found string, names []string) error {
		return &data.InputError{Source: data.Source{Column: "family"}, Found: found, Want: "auto or one of " + strings.Join(names, ", ")}
	}
	if !ok {
		return "", bad(fmt.Sprintf("%q", setting), form.FamilyNames())
	}
	if layouts && setting != form.LayoutFamily {
		return "", bad(fmt.Sprintf("%q for measurements with layouts", setting), []string{form.LayoutFamily})
	}
	if !slices.Contains(f.Modes, mode) {
		return "", bad(fmt.Sprintf("%q for measurements in mode %s", setting, mode), form.FamiliesOf(mode))
	}
	return setting, nil
}

// check refuses invalid sizes.
func (s Settings) check() error {
	for _, v := range []struct {
		name  string
		value float64
		want  string
	}{{"interconnect", s.Interconnect, "bytes per second ≥ 0, 0 if unknown"}, {"message_bytes", s.MessageBytes, "bytes ≥ 0, 0 if unknown"}} {
		if !(v.value >= 0) || math.IsInf(v.value, 0) {
			return &data.InputError{Source: data.Source{Column: v.name}, Found: fmt.Sprint(v.value), Want: v.want}
		}
	}
	return nil
}

// usable returns the ok measurements, and an error if they are invalid or of
// several jobs.
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

// checkRow refuses invalid measurements.
func checkRow(m data.Measurement) error {
	bad := func(column string, v float64, want string) error {
		src := m.Source
		src.Column = column
		return &data.InputError{Source: src, Found: fmt.Sprint(v), Want: want}
	}
	switch {
	case !(m.StepTime >= minTime && m.StepTime <= maxTime):
		return bad("step_time_s", m.StepTime, fmt.Sprintf("%g to %g seconds in a measurement with status ok", minTime, maxTime))
	case !(m.SyncTime >= 0) || m.SyncTime > m.StepTime*1.0001:
		return bad("sync_time_s", m.SyncTime, "seconds from 0 to the step time")
	}
	var in *data.InputError
	if err := checkConfig(m.Config, m.Architecture); errors.As(err, &in) {
		in.File, in.Line = m.Source.File, m.Source.Line
		return in
	}
	return nil
}

// Plausible values: step times from a nanosecond to thirty years, local batches
// from a millionth of a sample. Others may overflow.
const (
	minTime, maxTime   = 1e-9, 1e9
	minBatch, maxBatch = 1e-6, 1e12
)

func checkConfig(c data.Config, a data.Architecture) error {
	bad := func(column, found, want string) error {
		return &data.InputError{Source: data.Source{Column: column}, Found: found, Want: want}
	}
	switch {
	case c.Workers < 1:
		return bad("workers", fmt.Sprint(c.Workers), "at least 1 worker")
	case len(c.Placement) > 0 && c.Placement.Workers() != c.Workers:
		return bad("placement", c.Placement.String(), fmt.Sprintf("a placement of %d workers", c.Workers))
	case c.Nodes > c.Workers && !c.Mode.UsesPS(): // servers may have nodes of their own
		return bad("nodes", fmt.Sprint(c.Nodes), fmt.Sprintf("at most one node per worker, %d", c.Workers))
	case c.LocalBatch != 0 && !(c.LocalBatch >= minBatch && c.LocalBatch <= maxBatch): // NaN too
		return bad("local_batch", fmt.Sprint(c.LocalBatch), fmt.Sprintf("%g to %g samples", minBatch, maxBatch))
	case c.AccumSteps < 0:
		return bad("accum_steps", fmt.Sprint(c.AccumSteps), "at least 0")
	case c.PS < 0:
		return bad("ps", fmt.Sprint(c.PS), "at least 0")
	}
	if column, found, want := c.Layout.Check(c.Workers, c.ModeOrDefault(), a); want != "" {
		return bad(column, found, want)
	}
	return nil
}

// For returns the model of the same job with another size of its network,
// whatever that of the configurations. With layouts of known sizes operations, launches and messages scale
// with it; else what was measured at several values (seq_len, say) is a knob, and
// anything else makes predictions uncertain.
func (m *Model) For(a data.Architecture) *Model {
	if a.Zero() {
		return m
	}
	out := *m
	out.groups = slices.Clone(m.groups)
	for i, g := range out.groups {
		sized := *g
		sized.asked = a
		out.groups[i] = &sized
	}
	return &out
}

// Job returns the name of the job the model describes.
func (m *Model) Job() string { return m.job }

// Warnings returns warnings of the fit: fits that did not converge,
// measurements left out, unknown batches and GPU types.
func (m *Model) Warnings() []string { return slices.Clone(m.warnings) }

// GPUTypes returns the GPU types that were measured, in order of appearance.
func (m *Model) GPUTypes() []string {
	var types []string
	for _, g := range m.groups {
		for _, t := range g.types {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types
}

// Modes returns the modes measured on a GPU type, in order of appearance;
// none if the GPU type was never measured.
func (m *Model) Modes(gpuType string) []data.Mode {
	var modes []data.Mode
	for _, g := range m.groups {
		if slices.Contains(g.types, gpuType) {
			modes = append(modes, g.mode)
		}
	}
	return modes
}

// find returns the group of a GPU type and mode and the index of the type in
// it; nil if they were never measured together.
func (m *Model) find(gpuType string, mode data.Mode) (*group, int) {
	for _, g := range m.groups {
		if t := slices.Index(g.types, gpuType); t >= 0 && g.mode == mode {
			return g, t
		}
	}
	return nil, -1
}

// Measurements returns the model's measurements of one GPU type and mode, with
// repetitions merged, at most 192.
func (m *Model) Measurements(gpuType string, mode data.Mode) []data.Measurement {
	g, _ := m.find(gpuType, mode)
	if g == nil {
		return nil
	}
	var rows []data.Measurement
	for i := range g.rows {
		if g.rows[i].GPUType == gpuType && g.rows[i].Status == data.OK {
			rows = append(rows, g.rows[i].Measurement)
		}
	}
	return rows
}

// LocalBatches returns the distinct local batches measured of one GPU type and
// mode, samples per worker per micro-step, ascending, and whether gradients
// were accumulated.
func (m *Model) LocalBatches(gpuType string, mode data.Mode) (sizes []float64, accumulated bool) {
	g, _ := m.find(gpuType, mode)
	if g == nil {
		return nil, false
	}
	for i := range g.rows {
		if c := &g.rows[i].Config; c.GPUType == gpuType && g.rows[i].Status == data.OK {
			sizes, accumulated = append(sizes, c.LocalBatch), accumulated || c.AccumSteps > 0
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), accumulated
}

// Timer returns the fitted parametric form of a GPU type and mode, without
// slopes and process, nil if they were never measured.
func (m *Model) Timer(gpuType string, mode data.Mode) form.StepTimer {
	g, t := m.find(gpuType, mode)
	if g == nil {
		return nil
	}
	return form.OfType(g.post.best, t)
}

// Parameters returns the fitted parameters of a GPU type and mode, slopes of
// the study's own knobs included, with units and 90 % intervals, and the name
// of the family.
func (m *Model) Parameters(gpuType string, mode data.Mode) (family string, params []form.Param) {
	g, t := m.find(gpuType, mode)
	if g == nil {
		return "", nil
	}
	return g.family, g.post.parameters(t)
}

// Borrowed returns the names of the other jobs that narrowed the prior of a GPU
// type and mode, nil if none did.
func (m *Model) Borrowed(gpuType string, mode data.Mode) []string {
	if g, t := m.find(gpuType, mode); g != nil {
		return slices.Clone(g.borrowed[t].Jobs)
	}
	return nil
}

// BatchRange returns the smallest and largest local batch measured for a GPU
// type and mode, in samples per worker per micro-step; zeros if unknown.
func (m *Model) BatchRange(gpuType string, mode data.Mode) (lo, hi float64) {
	if g, t := m.find(gpuType, mode); g != nil {
		return g.ranges[t].Local[0], g.ranges[t].Local[1]
	}
	return 0, 0
}

// GlobalBatch returns the samples per step of the smallest and largest batch
// measured for a GPU type and mode; zeros if unknown. fixed says that the
// global batch was held constant while the workers changed.
func (m *Model) GlobalBatch(gpuType string, mode data.Mode) (lo, hi float64, fixed bool) {
	if g, t := m.find(gpuType, mode); g != nil {
		r := g.ranges[t]
		return r.Global[0], r.Global[1], g.scale.Fixed
	}
	return 0, 0, false
}
