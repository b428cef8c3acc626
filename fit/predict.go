package fit

import (
	"fmt"
	"math"
	"strings"

	"knee/data"
)

// beyondSD is the sd of ln step time that a prediction carries per doubling
// beyond the measured range, on top of what the posterior says: the
// posterior takes the form for true, and far away no form is.
const beyondSD = .07

// Predict returns the step time of a configuration with its 90 % interval.
//
// An empty GPU type means the only one measured, an empty mode the only one
// measured on it (else all-reduce), an unknown batch the typical measured
// one, and without a placement or a number of nodes the workers fill nodes as
// wide as the widest measured. Further knobs (Config.Extra) are ignored. It
// fails with a *data.InputError, naming what was measured, for a GPU type or
// mode that never was.
func (m *Model) Predict(c data.Config) (Prediction, error) {
	q, err := m.ask(c, 0)
	if err != nil {
		return Prediction{}, err
	}
	return q.prediction(q.g.stack.predict(&q.p, q.beyond, nil)), nil
}

// StepTime returns the mean of [Model.Predict], in seconds, without the
// interval: several times faster, for searches over many configurations.
func (m *Model) StepTime(c data.Config) (float64, error) {
	g, c, err := m.resolve(c)
	if err != nil {
		return 0, err
	}
	p := pointOf(c, g.stack.scale)
	return math.Exp(g.stack.logStep(&p)), nil
}

// Resolve returns the configuration as [Model.Predict] understands it: GPU
// type, mode, batch and number of nodes filled in. It fails like Predict.
func (m *Model) Resolve(c data.Config) (data.Config, error) {
	g, c, err := m.resolve(c)
	if err != nil {
		return c, err
	}
	if c.LocalBatch <= 0 && g.hull.Local[1] > 0 {
		c.LocalBatch = pointOf(c, g.stack.scale).batch
	}
	return c, nil
}

// BatchRange returns the smallest and largest local batch measured for a GPU
// type and mode, in samples per worker per micro-step; zeros if unknown.
func (m *Model) BatchRange(gpuType string, mode data.Mode) (lo, hi float64) {
	if g := m.find(gpuType, mode); g != nil {
		return g.hull.Local[0], g.hull.Local[1]
	}
	return 0, 0
}

// GlobalBatch returns the samples per step of the smallest and largest batch
// measured for a GPU type and mode; zeros if unknown. fixed says that the
// global batch was held constant while the workers changed.
func (m *Model) GlobalBatch(gpuType string, mode data.Mode) (lo, hi float64, fixed bool) {
	if g := m.find(gpuType, mode); g != nil {
		return g.hull.Global[0], g.hull.Global[1], g.hull.FixedGlobal
	}
	return 0, 0, false
}

// resolve finds the fit for a configuration and completes it.
func (m *Model) resolve(c data.Config) (*group, data.Config, error) {
	if len(c.Placement) > 0 && c.Workers == 0 {
		c.Workers = c.Placement.Workers()
	}
	if err := checkConfig(c); err != nil {
		return nil, c, err
	}
	types := m.GPUTypes()
	if c.GPUType == "" && len(types) == 1 {
		c.GPUType = types[0]
	}
	modes := m.Modes(c.GPUType)
	if len(modes) == 0 {
		return nil, c, &data.InputError{Source: data.Source{Column: "gpu_type"}, Found: fmt.Sprintf("%q", c.GPUType),
			Want: "a GPU type that was measured: " + list(types)}
	}
	if c.Mode == "" && len(modes) == 1 {
		c.Mode = modes[0]
	}
	c.Mode = c.ModeOrDefault()
	g := m.find(c.GPUType, c.Mode)
	if g == nil {
		names := make([]string, len(modes))
		for i, mode := range modes {
			names[i] = string(mode)
		}
		return nil, c, &data.InputError{Source: data.Source{Column: "mode"}, Found: fmt.Sprintf("%q on %s", c.Mode, c.GPUType),
			Want: "a mode that was measured there: " + list(names)}
	}
	return g, g.hull.place(c), nil
}

// maxBatch is the largest local batch that is predicted, the largest that
// measurements may have; beyond it step times overflow.
const maxBatch = 1e12

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
	case !(c.LocalBatch >= 0 && c.LocalBatch <= maxBatch): // NaN too
		return bad("local_batch", fmt.Sprint(c.LocalBatch), "samples > 0, at most 1e12")
	case c.AccumSteps < 0:
		return bad("accum_steps", fmt.Sprint(c.AccumSteps), "at least 0")
	case c.PS < 0:
		return bad("ps", fmt.Sprint(c.PS), "at least 0")
	}
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}
