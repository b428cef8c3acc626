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
// [data.AllReduce], ps for [data.PSSync] and [data.PSAsync].
const Auto = "auto"

// Settings controls [Fit]. The zero value is the default.
type Settings struct {
	Family string // [Auto] (also the empty string) or one of [form.FamilyNames]
	Seed   int64  // of the posterior draws behind the intervals
	// Others are fitted models of other jobs of the same cluster: what they
	// show of its links becomes part of our prior. A job that is named twice
	// counts once.
	Others []*Model
	// MessageBytes are what one synchronisation moves per worker (4 × the
	// number of parameters in single precision) and Interconnect the bytes/s of
	// the link between two nodes; 0 if unknown.
	MessageBytes float64
	Interconnect float64
	// Screened says that measurements that contradict the others were left
	// out before: none is looked for.
	Screened      bool
	ignoreLayouts bool
	// Prior replaces [prior.Default]; nil means that.
	Prior *prior.Speed
}

// Prediction is the predicted step time of one configuration.
type Prediction struct {
	StepTime     data.Estimate // seconds per optimizer step; per update of the whole job in ps-async
	Median       float64       // s, of the predictive distribution
	Expected     float64       // s, mean over the posterior: to choose by, since what is less certain counts for longer
	Extrapolated bool          // outside the measured range; Why says in which respect
	Support      int           // measurements of the same GPU type and mode behind it
	Why          string        // what is outside the measured range, if Extrapolated
}

// Model is what is known of the speed of one job. Make it with [Fit]; it is
// safe for concurrent use.
type Model struct {
	job      string
	seed     int64
	groups   []*group // by mode; under published families by GPU type too
	warnings []string
}

// Fit fits the ok measurements of one job. One is enough.
//
// It fails with a *data.InputError if there is no ok measurement, if they
// are of several jobs, if one holds a value that cannot be, or if the family
// asked for does not describe a mode that was measured, and with the error of
// ctx when that ends.
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
	for _, part := range parts(ok, s.Family) {
		g, err := newGroup(part, s)
		if err == nil {
			err = g.fit(ctx, s)
		}
		if err != nil {
			return nil, err
		}
		m.groups = append(m.groups, g)
		m.warnings = append(m.warnings, g.warnings()...)
	}
	return m, nil
}

// ignoreLayouts takes the layouts from measurements, and says so, where some
// of several workers do not say theirs: that is not the same as having none.
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

// plain is a configuration with the same global batch spread over all workers
// alike.
func plain(c data.Config) data.Config {
	c.LocalBatch *= float64(c.Replicas()) / float64(max(c.Workers, 1))
	c.Layout = data.Layout{}
	return c
}

// parts divides measurements by mode, in order of appearance; under a
// published family, which knows one GPU type only, by GPU type as well.
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

// familyFor returns the name of the family to use for a mode.
//
// Layouts other than plain data parallelism have a family of their own.
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

// check refuses sizes that cannot be, naming the setting.
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

// checkRow refuses measurements no fit can use.
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
	if err := checkConfig(m.Config); errors.As(err, &in) {
		in.File, in.Line = m.Source.File, m.Source.Line
		return in
	}
	return nil
}

// What can be meant: step times from a nanosecond to thirty years, and local
// batches from a millionth of a sample. Beyond, numbers overflow.
const (
	minTime, maxTime   = 1e-9, 1e9
	minBatch, maxBatch = 1e-6, 1e12
)

func checkConfig(c data.Config) error {
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
	if column, found, want := c.Layout.Check(c.Workers, c.ModeOrDefault(), data.Architecture{}); want != "" {
		return bad(column, found, want)
	}
	return nil
}

// For returns the model of the same job at another size: its operations,
// launches and messages grow as the two sizes say. Only layouts are modelled by
// size; under other families, and for a size of which nothing is known, the
// model is the same.
func (m *Model) For(a data.Architecture) *Model {
	if a.Zero() {
		return m
	}
	out := *m
	out.groups = slices.Clone(m.groups)
	for i, g := range out.groups {
		sized := *g
		sized.arch = a
		out.groups[i] = &sized
	}
	return &out
}

// Job returns the name of the job the model describes.
func (m *Model) Job() string { return m.job }

// Warnings returns what a reader of the model should know: fits that did not
// converge, measurements that were left out, what the priors lack.
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

// Measurements returns the measurements the model keeps of one GPU type and
// mode: repeated ones merged, and where there were very many only some.
func (m *Model) Measurements(gpuType string, mode data.Mode) []data.Measurement {
	g, _ := m.find(gpuType, mode)
	if g == nil {
		return nil
	}
	var rows []data.Measurement
	for i := range g.rows {
		if g.rows[i].GPUType == gpuType {
			rows = append(rows, g.rows[i].Measurement)
		}
	}
	return rows
}

// LocalBatches returns the batches per worker that were measured of one GPU type
// and mode, ascending, and whether any was accumulated.
func (m *Model) LocalBatches(gpuType string, mode data.Mode) (sizes []float64, accumulated bool) {
	g, _ := m.find(gpuType, mode)
	if g == nil {
		return nil, false
	}
	for i := range g.rows {
		if c := &g.rows[i].Config; c.GPUType == gpuType {
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

// Parameters returns the fitted parameters of a GPU type and mode with their
// units and 90 % intervals, and the name of the family they belong to. Slopes
// of the study's own knobs are among them.
func (m *Model) Parameters(gpuType string, mode data.Mode) (family string, params []form.Param) {
	g, t := m.find(gpuType, mode)
	if g == nil {
		return "", nil
	}
	return g.family, g.post.parameters(t)
}

// Borrowed returns the names of the other jobs whose measurements shaped the
// prior of a GPU type and mode, nil if none did.
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
