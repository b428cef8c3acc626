package fit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
	"knee/fit/memory"
	"knee/fit/speed"
)

// ModelVersion is the version of model.json that is written, and the newest read. Of older
// ones speed and memory are fitted again, from the measurements in the file.
const ModelVersion = 3

// modelFile is model.json. Version and Speed are set in the file alone.
type modelFile struct {
	Version     int                `json:"version"`
	Job         string             `json:"job"`
	Seed        int64              `json:"seed"`
	Speed       json.RawMessage    `json:"speed"`
	Batch       data.Batch         `json:"batch"`
	Start       float64            `json:"start_seconds,omitempty"` // median
	Prices      map[string]float64 `json:"price_per_worker_hour,omitempty"`
	Convergence *convergence.Curve `json:"convergence,omitempty"`
	NoiseScale  *gradnoise.Scale   `json:"noise_scale,omitempty"`
	Memory      *memory.Model      `json:"memory,omitempty"`
	Warnings    []string           `json:"warnings,omitempty"` // in addition to those of the speed model
}

// EncodeModel writes model.json.
func EncodeModel(w io.Writer, m *Model) error {
	f := m.file
	f.Version = ModelVersion
	var err error
	if f.Speed, err = m.Model.MarshalJSON(); err == nil {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		err = enc.Encode(f)
	}
	if err != nil {
		return fmt.Errorf("write model of job %q: %w", f.Job, err)
	}
	return nil
}

// DecodeModel reads model.json; name is the file name in errors. It refuses
// newer versions, unknown fields and inconsistent contents.
func DecodeModel(r io.Reader, name string) (*Model, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // byte order mark
	var f modelFile
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	malformed := dec.Decode(&f)
	// A newer version is reported first: it explains other errors.
	if err := data.CheckVersion("model", name, f.Version, ModelVersion); err != nil && (malformed == nil || f.Version != 0) {
		return nil, err
	}
	if malformed != nil {
		return nil, data.JSONError(data.Source{File: name}, text, 0, malformed, wantModel)
	}
	if len(f.Speed) == 0 {
		return nil, &data.InputError{Source: data.Source{File: name, Column: "speed"}, Found: "nothing", Want: "a fitted speed curve, as written by knee fit"}
	}
	m := &Model{file: f}
	m.file.Speed = nil
	if f.Version < ModelVersion {
		m.Model, err = refit(f)
	} else {
		m.Model, err = speed.Restore(f.Speed, f.Job, f.Seed)
	}
	if err != nil {
		return nil, data.JSONError(data.Source{File: name, Column: "speed"}, text, max(bytes.Index(text, f.Speed), 0), err, wantModel)
	}
	if f.Memory != nil && f.Memory.Draws == nil {
		m.refitMemory()
	}
	for t, price := range f.Prices {
		if !(price > 0 && price < 1e12) {
			return nil, fmt.Errorf("price_per_worker_hour of %s: %g, want US$ > 0", t, price)
		}
	}
	if !(f.Start >= 0) {
		return nil, &data.InputError{Source: data.Source{File: name, Column: "start_seconds"}, Found: fmt.Sprint(f.Start), Want: "seconds ≥ 0"}
	}
	if f.Convergence != nil {
		err = f.Convergence.Check()
	}
	if f.NoiseScale != nil {
		err = cmp.Or(err, f.NoiseScale.Check())
	}
	if err != nil {
		return nil, &data.InputError{Source: data.Source{File: name, Column: "convergence"}, Found: err.Error(), Want: wantModel}
	}
	return m, nil
}

// refit fits the measurements of a file of version 1 or 2.
func refit(f modelFile) (*speed.Model, error) {
	var groups []struct {
		GPUType      string             `json:"gpu_type"`
		Mode         data.Mode          `json:"mode"`
		Family       string             `json:"family"`
		Measurements []data.Measurement `json:"measurements"`
	}
	if err := json.Unmarshal(f.Speed, &groups); err != nil {
		return nil, err
	}
	var ms []data.Measurement
	s := Settings{Seed: f.Seed}
	for _, g := range groups {
		for _, m := range g.Measurements {
			m.Job, m.GPUType, m.Mode, m.Status = f.Job, g.GPUType, g.Mode, data.OK
			ms = append(ms, m)
		}
		if len(groups) == 1 && g.Family != "collective-typed" { // a prior of version 2, not a family
			s.Family = g.Family
		}
	}
	m, err := Fit(ms, s)
	if err != nil {
		return nil, err
	}
	return m.Model, nil
}

// refitMemory fits the memory model of an earlier version again, from the measurements
// in the file, which are those that fit in memory.
func (m *Model) refitMemory() {
	before := m.file.Memory
	m.file.Memory = memory.Fit(m.AllMeasurements(), before.Architecture, m.file.Seed)
	maps.Copy(m.file.Memory.GPU, before.GPU)
	m.file.Warnings = append(m.file.Warnings,
		"memory is fitted again without trials that ran out of it, since the model is of an earlier version; knee fit uses them")
}

const wantModel = "a model as written by knee fit"

// ReadModel reads the model at path ("-" is standard input; gzip is
// decompressed); see [DecodeModel] for errors.
func ReadModel(path string) (*Model, error) { return data.Load(path, DecodeModel) }

// WriteModel writes the model to path atomically.
func WriteModel(path string, m *Model) error {
	return data.WriteFile(path, func(w io.Writer) error { return EncodeModel(w, m) })
}
