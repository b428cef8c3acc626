package fit

import (
	"slices"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
)

// ModelVersion is the version of model.json this package writes, and the
// newest it reads. Before version 2 the form of the family collective knew
// nothing of rings: its parameters are fitted anew when such a file is read.
const ModelVersion = 2

// Auto is the family setting that chooses by mode: collective for
// [data.AllReduce], ps for [data.PSSync] and [data.PSAsync].
const Auto = "auto"

// Settings controls [Fit]. The zero value is the default.
type Settings struct {
	Family string // [Auto] (also the empty string) or one of [FamilyNames]
	Seed   int64  // of the posterior draws behind the intervals
	// Others are fitted models of other jobs of the same cluster. Their links
	// are ours: what they show of them becomes our prior.
	Others []*Model
	// Parameters are the bytes that one synchronisation moves per worker
	// (4 × the number of parameters in single precision) and Interconnect the
	// bytes/s of the link between two nodes; 0 if unknown. Parameters are kept
	// in the model, for the jobs that learn from it.
	Parameters   float64
	Interconnect float64
	// Screened says that measurements that contradict the others were left
	// out before, as of those that a model keeps: none is looked for.
	Screened bool
}

// Prediction is the predicted step time of one configuration.
type Prediction struct {
	StepTime     data.Estimate // seconds per optimizer step; per update of the whole job in ps-async
	Extrapolated bool          // outside the measured range; Why says in which respect
	Support      int           // measurements of the same GPU type and mode behind it
	Why          string        // what is outside the measured range, if Extrapolated
}

// Model is what is known about one job: the contents of model.json. Make it
// with [Fit] or [ReadModel]; the zero value knows nothing. A Model is safe
// for concurrent use unless [Model.AddCurve] is running.
type Model struct {
	job         string
	seed        int64
	groups      []*group // by GPU type, then mode, in order of first measurement
	warnings    []string
	convergence *convergence.Curve
	noise       *gradnoise.Scale
	batch       data.Batch
}

// group is the fit of one GPU type and mode.
type group struct {
	gpuType  string
	mode     data.Mode
	count    int                // ok measurements it was fitted to, before merging
	rows     []data.Measurement // merged and, beyond maxRows, thinned out
	runs     []float64          // measurements merged into each row; nil means one each
	spread   spread             // how far measurements scatter
	borrowed *borrowed          // from other jobs, nil if nothing was
	dropped  []string           // why measurements were left out
	hull     hull
	status   string // how the solver ended, empty if it converged
	stack    *stack
}

// Job returns the name of the job the model describes.
func (m *Model) Job() string { return m.job }

// Warnings returns what a reader of the model should know: fits that did not
// converge, knobs that were varied but are not modelled, measurements that
// were left out.
func (m *Model) Warnings() []string { return slices.Clone(m.warnings) }

// GPUTypes returns the GPU types that were measured, in order of appearance.
func (m *Model) GPUTypes() []string {
	var types []string
	for _, g := range m.groups {
		if !slices.Contains(types, g.gpuType) {
			types = append(types, g.gpuType)
		}
	}
	return types
}

// Modes returns the modes measured on a GPU type, in order of appearance;
// none if the GPU type was never measured.
func (m *Model) Modes(gpuType string) []data.Mode {
	var modes []data.Mode
	for _, g := range m.groups {
		if g.gpuType == gpuType {
			modes = append(modes, g.mode)
		}
	}
	return modes
}

// Batch returns the batch limits given with the training curve; the zero
// value if there was none.
func (m *Model) Batch() data.Batch { return m.batch }

// Convergence returns the fitted training curve, nil if none was added.
func (m *Model) Convergence() *convergence.Curve { return m.convergence }

// NoiseScale returns the fitted gradient noise scale, nil if unknown.
func (m *Model) NoiseScale() *gradnoise.Scale { return m.noise }

// Measurements returns the measurements the model keeps of one GPU type and
// mode: repeated ones merged, and thinned out to the most informative where
// there were very many.
func (m *Model) Measurements(gpuType string, mode data.Mode) []data.Measurement {
	g := m.find(gpuType, mode)
	if g == nil {
		return nil
	}
	rows := slices.Clone(g.rows)
	for i := range rows { // what the rows of a group share is kept only once
		rows[i].Job, rows[i].GPUType, rows[i].Mode = m.job, g.gpuType, g.mode
	}
	return rows
}

// Timer returns the fitted parametric form of a GPU type and mode, without
// the residual, nil if they were never measured. It is one of the exported
// family types, such as *[Collective].
func (m *Model) Timer(gpuType string, mode data.Mode) StepTimer {
	g := m.find(gpuType, mode)
	if g == nil {
		return nil
	}
	if c, ok := g.stack.best.(*collective); ok { // prepared for many evaluations
		return &c.Collective
	}
	return g.stack.best
}

// Parameters returns the fitted parameters of a GPU type and mode with their
// units and 90 % intervals, and the name of the family they belong to.
func (m *Model) Parameters(gpuType string, mode data.Mode) (family string, params []Param) {
	if g := m.find(gpuType, mode); g != nil {
		return g.stack.form.name(), g.stack.parameters()
	}
	return "", nil
}

// Borrowed returns the names of the other jobs whose measurements shaped the
// prior of a GPU type and mode, nil if none did.
func (m *Model) Borrowed(gpuType string, mode data.Mode) []string {
	if g := m.find(gpuType, mode); g != nil && g.borrowed != nil {
		return slices.Clone(g.borrowed.Jobs)
	}
	return nil
}

func (m *Model) find(gpuType string, mode data.Mode) *group {
	for _, g := range m.groups {
		if g.gpuType == gpuType && g.mode == mode {
			return g
		}
	}
	return nil
}
