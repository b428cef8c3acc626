package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
)

// modelFile is model.json. Everything derived, such as posterior draws, is
// remade on reading, from the measurements it holds.
type modelFile struct {
	Version     int                `json:"version"`
	Job         string             `json:"job"`
	Seed        int64              `json:"seed"`
	Speed       []groupFile        `json:"speed"`
	Batch       batchFile          `json:"batch"`
	Convergence *convergence.Curve `json:"convergence,omitempty"`
	NoiseScale  *gradnoise.Scale   `json:"noise_scale,omitempty"`
	Warnings    []string           `json:"warnings,omitempty"`
}

type batchFile struct {
	Initial float64 `json:"initial,omitempty"`
	Max     float64 `json:"max,omitempty"`
	Adapt   bool    `json:"adapt,omitempty"`
}

// groupFile is the fit of one GPU type and mode. Parameters are there for
// people; Theta, the same in the coordinates of the solver, is what counts.
type groupFile struct {
	GPUType      string             `json:"gpu_type"`
	Mode         data.Mode          `json:"mode"`
	Family       string             `json:"family"`
	Theta        []float64          `json:"theta"`
	Status       string             `json:"status,omitempty"`
	Parameters   []paramFile        `json:"parameters"`
	Count        int                `json:"count"`
	Hull         hull               `json:"measured"`
	Spread       spread             `json:"spread"`
	Borrowed     *borrowed          `json:"borrowed,omitempty"`
	Measurements []data.Measurement `json:"measurements"`
	Runs         []float64          `json:"runs,omitempty"` // measurements merged into each, if not one
}

type paramFile struct {
	Name  string        `json:"name"`
	Unit  string        `json:"unit,omitempty"`
	Value data.Estimate `json:"value"`
}

// EncodeModel writes model.json.
func EncodeModel(w io.Writer, m *Model) error {
	f := modelFile{
		Version: ModelVersion, Job: m.job, Seed: m.seed, Batch: batchFile(m.batch),
		Convergence: m.convergence, NoiseScale: m.noise, Warnings: m.warnings,
	}
	for _, g := range m.groups {
		gf := groupFile{
			GPUType: g.gpuType, Mode: g.mode, Family: g.stack.form.name(), Theta: g.stack.theta,
			Status: g.status, Count: g.count, Hull: g.hull, Measurements: g.rows, Spread: g.spread, Borrowed: g.borrowed,
		}
		if slices.ContainsFunc(g.runs, func(n float64) bool { return n != 1 }) {
			gf.Runs = g.runs
		}
		for _, p := range g.stack.parameters() {
			gf.Parameters = append(gf.Parameters, paramFile(p))
		}
		f.Speed = append(f.Speed, gf)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("write model of job %q: %w", m.job, err)
	}
	return nil
}

// DecodeModel reads model.json; name is what errors call it. It refuses a
// newer version, unknown fields, and contents that contradict each other.
func DecodeModel(r io.Reader, name string) (*Model, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // as some editors begin a file
	// The version comes first: of a newer file, every other complaint would
	// be beside the point.
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, modelError(name, "", err)
	}
	if err := data.CheckVersion("model", name, head.Version, ModelVersion); err != nil {
		return nil, err
	}
	var f modelFile
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, modelError(name, "", err)
	}
	m := &Model{
		job: f.Job, seed: f.Seed, batch: data.Batch(f.Batch),
		convergence: f.Convergence, noise: f.NoiseScale, warnings: f.Warnings,
	}
	if len(f.Speed) == 0 {
		return nil, &data.InputError{Source: data.Source{File: name, Column: "speed"}, Found: "nothing", Want: "at least one fitted speed curve, as written by knee fit"}
	}
	for i, gf := range f.Speed {
		g, err := gf.restore(f.Version, f.Seed)
		if err != nil {
			return nil, modelError(name, fmt.Sprintf("speed[%d]", i), err)
		}
		if m.find(g.gpuType, g.mode) != nil {
			return nil, modelError(name, fmt.Sprintf("speed[%d]", i), fmt.Errorf("%s appears twice", g.kind()))
		}
		m.groups = append(m.groups, g)
	}
	if err := checkCurve(f); err != nil {
		return nil, modelError(name, "convergence", err)
	}
	return m, nil
}

// restore remakes a group from its file, written in a version of model.json.
func (gf groupFile) restore(version int, seed int64) (*group, error) {
	mode, err := data.ParseMode(string(gf.Mode))
	if err != nil {
		return nil, err
	}
	if _, err := familyFor(gf.Family, mode); err != nil || gf.Family == "" || gf.Family == Auto {
		return nil, fmt.Errorf("family %q does not describe mode %s", gf.Family, mode)
	}
	if len(gf.Measurements) == 0 || len(gf.Measurements) > maxRows {
		return nil, fmt.Errorf("%d measurements, want 1 to %d", len(gf.Measurements), maxRows)
	}
	for _, m := range withMode(gf.Measurements, mode) {
		if err := checkRow(m); err != nil {
			return nil, err
		}
	}
	// In version 1 the parameters of this family meant something else, so that
	// it is fitted anew, without what it had borrowed in them.
	older := version < 2 && (gf.Family == "collective" || gf.Family == typed)
	if older {
		gf.Borrowed = nil
	}
	g := &group{
		gpuType: gf.GPUType, mode: mode, count: max(gf.Count, len(gf.Measurements)), rows: gf.Measurements,
		hull: gf.Hull, status: gf.Status, spread: gf.Spread, runs: gf.Runs, borrowed: gf.Borrowed,
	}
	if err := errors.Join(gf.checkSpread(), gf.Borrowed.check()); err != nil {
		return nil, err
	}
	if g.spread.Scale == 0 { // written before the spread was inferred
		g.spread.Scale = 1
	}
	form, sc, pts, full := g.prepare(gf.Family)
	if older {
		if gf.Theta, err = g.settle(form, layOut(full, pts, form.kernel()), nil); err != nil {
			return nil, err
		}
	}
	if want := len(form.prior().mean); len(gf.Theta) != want {
		return nil, fmt.Errorf("%d numbers in theta, want %d for family %s", len(gf.Theta), want, gf.Family)
	}
	const absurd = 1e3 // a logarithm this large overflows in the step time
	_, linear := form.(linearForm)
	for _, v := range gf.Theta {
		if !finite(v) || (!linear && math.Abs(v) > absurd) {
			return nil, fmt.Errorf("theta holds %g, which no fit yields", v)
		}
	}
	theta, l := gf.Theta, layOut(full, pts, form.kernel())
	if g.stack, err = newStack(form, sc, theta, l, g.spread, g.seed(seed)); err != nil {
		return nil, err
	}
	return g, nil
}

// checkSpread refuses spreads that no inference yields.
func (gf groupFile) checkSpread() error {
	s := gf.Spread
	within := func(lo, hi float64) func(float64) bool {
		return func(v float64) bool { return !(v >= lo && v <= hi) }
	}
	switch {
	case within(0, 100)(s.Scale), within(0, 100)(s.Timers), within(0, 1e4)(s.RunVar), within(0, 1e9)(s.RunFree),
		len(s.Nodes) != len(s.Weights), slices.ContainsFunc(s.Nodes, within(.01, 100)), slices.ContainsFunc(s.Weights, within(0, 1)):
		return errors.New("want a spread with a scale and nodes from 0.01 to 100 and a weight from 0 to 1 for each node")
	case len(gf.Runs) != 0 && len(gf.Runs) != len(gf.Measurements), slices.ContainsFunc(gf.Runs, within(1, 1e12)):
		return fmt.Errorf("%d runs, want one count of at least 1 for each of %d measurements", len(gf.Runs), len(gf.Measurements))
	}
	return nil
}

func checkCurve(f modelFile) error {
	if f.Convergence != nil {
		if err := f.Convergence.Check(); err != nil {
			return err
		}
	}
	if f.NoiseScale != nil {
		return f.NoiseScale.Check()
	}
	return nil
}

// modelError says where in model.json something is wrong.
func modelError(name, at string, err error) error {
	src := data.Source{File: name, Column: at}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		src.Column = typ.Field
	}
	return &data.InputError{Source: src, Found: err.Error(), Want: "a model as written by knee fit"}
}

// ReadModel reads the model at path ("-" is standard input, gzip is undone);
// see [DecodeModel] for what it refuses.
func ReadModel(path string) (*Model, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	defer f.Close()
	return DecodeModel(f, path)
}

// WriteModel writes the model to path, all of it or nothing.
func WriteModel(path string, m *Model) error {
	return data.WriteFile(path, func(w io.Writer) error { return EncodeModel(w, m) })
}
