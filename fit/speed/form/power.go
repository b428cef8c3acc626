package form

import (
	"math"

	"knee/data"
)

// Power is a baseline: the GPU-seconds of a sample are a power of the workers,
//
//	T = PerSample·M/k·k^Exponent
//
// with k workers and M samples per step. With Exponent 0 scaling is linear.
type Power struct {
	PerSample float64 // s
	Exponent  float64
	scale     Scale
}

// StepTime implements [StepTimer].
func (t *Power) StepTime(c data.Config) float64 {
	p := NewPoint(c, t.scale)
	step, _ := t.LogTimes(&p)
	return math.Exp(step)
}

// LogTimes implements [Curve]; all of the time counts as computation.
func (t *Power) LogTimes(p *Point) (step, compute float64) {
	compute = math.Log(t.PerSample*p.Batch) + t.Exponent*p.LnWorkers
	return compute + math.Log1p(p.Accum), compute
}

// Params implements [Fitted].
func (t *Power) Params() []Param {
	return []Param{param("per_sample", "s", t.PerSample), param("exponent", "", t.Exponent)}
}

type powerForm struct {
	s      Scale
	linear bool
}

// Names implements [Form].
func (f *powerForm) Names() []string {
	if f.linear {
		return []string{"per_sample"}
	}
	return []string{"per_sample", "exponent"}
}

// Bind implements [Form].
func (f *powerForm) Bind(x []float64) Curve {
	t := &Power{PerSample: f.s.Time / f.s.Batch * math.Exp(x[0]), scale: f.s}
	if !f.linear {
		t.Exponent = x[1]
	}
	return t
}

// Gradient implements [Form].
func (f *powerForm) Gradient(_ []float64, p *Point, step, compute []float64) {
	step[0] = 1
	if !f.linear {
		step[1] = p.LnWorkers
	}
	copy(compute, step)
}

// Starts implements [Form].
func (f *powerForm) Starts() []map[string]float64 { return []map[string]float64{{}} }
