// Package memory predicts the peak memory of the fullest device of a training
// job, and whether a configuration fits.
//
// A physical form divides parameters, gradients, optimizer state, activations
// and logits over tensor and pipeline parallelism and sharding. The factors of
// its terms have priors, which measurements narrow. A measured peak is an exact
// observation; a configuration without one that ran, or ran out of memory, is
// censored: below, or above, the memory of the device. Without measurements the
// prior gives an estimate with a wide interval.
package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Model is the memory model of one job. It is safe for concurrent use.
type Model struct {
	arch  data.Architecture
	draws [][coordinates]float64
	gpu   map[string]float64 // bytes of a device by type, as measured
}

// modelFile is Model as part of model.json.
type modelFile struct {
	Architecture data.Architecture  `json:"architecture,omitzero"`
	Draws        [][]float64        `json:"draws"`
	GPU          map[string]float64 `json:"gpu_memory_bytes,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (m *Model) MarshalJSON() ([]byte, error) {
	short := make([][]float64, len(m.draws))
	for i := range short {
		for _, v := range m.draws[i] {
			short[i] = append(short[i], math.Round(v*1e6)/1e6)
		}
	}
	return json.Marshal(modelFile{m.arch, short, m.gpu})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Model) UnmarshalJSON(text []byte) error {
	var f modelFile
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	if len(f.Draws) == 0 || len(f.Draws) > 1024 {
		return fmt.Errorf("%d draws of the memory model, want 1 to 1024", len(f.Draws))
	}
	draws := make([][coordinates]float64, len(f.Draws))
	for i, d := range f.Draws {
		if len(d) != coordinates {
			return fmt.Errorf("a draw of the memory model with %d coordinates, want %d: fit the job again", len(d), coordinates)
		}
		for j, v := range d {
			draws[i][j] = v
			if !(math.Abs(v) < 100) {
				return errors.New("a coordinate of the memory model beyond ±100, which no fit yields")
			}
		}
	}
	*m = Model{f.Architecture, draws, f.GPU}
	return nil
}

// Fit fits the memory model to measurements of one job: recorded peaks, or
// whether a configuration ran or ran out of memory on a device of known memory.
// Without measurements predictions come from the prior. A zero architecture is
// taken from the measurements. seed is that of the posterior draws.
func Fit(ms []data.Measurement, a data.Architecture, seed int64) *Model {
	return fitUnder(learned(), ms, a, seed)
}

// fitUnder is [Fit] with a given prior instead of the learned one.
func fitUnder(from Prior, ms []data.Measurement, a data.Architecture, seed int64) *Model {
	m := &Model{arch: a, gpu: map[string]float64{}}
	uncounted := slices.ContainsFunc(ms, Uncounted)
	for _, r := range ms {
		if a.Zero() && !r.Architecture.Zero() {
			m.arch = r.Architecture
		}
		if r.GPUMemory > 0 {
			m.gpu[r.GPUType] = r.GPUMemory
		}
	}
	var rows []observation
	for _, r := range ms {
		arch := r.Architecture
		if arch.Zero() {
			arch = m.arch
		}
		if uncounted {
			arch.Hidden, m.arch.Hidden = 0, 0
		}
		o := observation{point: pointOf(r.Config, arch), capacity: math.Log(m.Capacity(r.GPUType))}
		switch limited := !math.IsInf(o.capacity, 0) && r.LocalBatch > 0; {
		case r.Status == data.OK && r.PeakMemory > 0:
			o.ln = math.Log(r.PeakMemory)
		case r.Status == data.OK && limited:
			o.ran = 1
		case r.Status == data.OOM && limited:
			o.ran = -1
		default:
			continue
		}
		rows = append(rows, o)
	}
	m.draws = sample(thin(rows), priors(m.arch, from), seed)
	return m
}

// Uncounted reports whether the size of a measurement's model leaves out an
// unknown number of experts.
func Uncounted(m data.Measurement) bool {
	return m.EP > 1 && m.Experts == 0 && m.Parameters == 0 && m.Layers > 0
}

// Capacity returns the bytes of memory of a GPU type, +Inf if not known.
func (m *Model) Capacity(gpuType string) float64 {
	if b := m.gpu[gpuType]; b > 0 {
		return b
	}
	if g, ok := data.FindGPU(gpuType); ok {
		return g.Memory * (1 << 30) // vendors write GB for GiB
	}
	return math.Inf(1)
}

// Prediction is the memory that a configuration needs.
type Prediction struct {
	Peak     data.Estimate // bytes, of the fullest device; Mean is the median
	Capacity float64       // bytes of the device, +Inf if not known
	Fits     float64       // probability that it fits
}

// For returns the model of the same job at another size.
func (m *Model) For(a data.Architecture) *Model {
	_, _, known := complete(a)
	if _, _, before := complete(m.arch); known != before {
		return m
	}
	out := *m
	out.arch = a
	return &out
}

// Predict predicts the memory of a configuration. An unknown batch counts as
// one sample.
func (m *Model) Predict(c data.Config) Prediction {
	out := Prediction{Capacity: m.Capacity(c.GPUType)}
	if c.LocalBatch <= 0 {
		c.LocalBatch = 1
	}
	p := pointOf(c, m.arch)
	lns := make([]float64, len(m.draws))
	for d := range m.draws {
		x := &m.draws[d]
		sd, ln := math.Exp(x[noise]), p.ln(x)
		lns[d] = ln + sd*scatter()[d*53%walkers] // one value each, in a fixed order
		if math.IsInf(out.Capacity, 1) {
			out.Fits++
		} else {
			out.Fits += student((math.Log(out.Capacity) + x[headroom] - ln) / sd)
		}
	}
	out.Fits /= float64(len(m.draws))
	slices.Sort(lns)
	out.Peak = data.Estimate{Mean: math.Exp(quantile.Sorted(lns, .5)), Lo: math.Exp(quantile.Sorted(lns, .05)), Hi: math.Exp(quantile.Sorted(lns, .95))}
	return out
}
