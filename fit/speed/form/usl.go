package form

import (
	"math"

	"knee/data"
)

// USL is the Universal Scalability Law (Gunther, "Guerrilla Capacity Planning",
// 2007, chapter 4) for training. The law gives the speedup of k workers as k/(1
// + σ(k−1) + κk(k−1)). With a local batch b each worker has its own samples, so
// the law applies to samples per second and
//
//	T = (s+1)·(Alpha + Beta·b)·(1 + Sigma·(k−1) + Kappa·k·(k−1))
//
// with s accumulation steps and a time linear in the batch on one worker. Kappa
// = 0 is Amdahl's law (1967). In ps-async k updates take this time.
type USL struct {
	Alpha    float64 // s
	Beta     float64 // s/sample
	Sigma    float64 // contention
	Kappa    float64 // coherency
	Async    bool
	refBatch float64 // samples, for an unknown batch
}

// StepTime implements [StepTimer].
func (t *USL) StepTime(c data.Config) float64 {
	p := NewPoint(c, Scale{Batch: math.Max(t.refBatch, 1), Global: 1})
	step, _ := t.LogTimes(&p)
	return math.Exp(step)
}

// LogTimes implements [Curve].
func (t *USL) LogTimes(p *Point) (step, compute float64) {
	compute = math.Log(t.Alpha + t.Beta*p.Batch)
	k := p.Workers
	step = compute + math.Log1p(p.Accum) + math.Log1p(t.Sigma*(k-1)+t.Kappa*k*(k-1))
	if t.Async {
		step -= p.LnWorkers
	}
	return step, compute
}

// Params implements [Fitted].
func (t *USL) Params() []Param {
	ps := []Param{
		param("alpha", "s", t.Alpha),
		param("beta", "s/sample", t.Beta),
		param("sigma", "", t.Sigma),
	}
	if t.Kappa > 0 {
		ps = append(ps, param("kappa", "", t.Kappa))
	}
	return ps
}

// uslForm scales USL to one set of measurements. Without coherency it is
// Amdahl's law ("Validity of the single processor approach to achieving large
// scale computing capabilities", AFIPS 1967): a share σ of the work is serial.
type uslForm struct {
	s         Scale
	coherency bool
	async     bool
}

// Names implements [Form].
func (f *uslForm) Names() []string {
	names := []string{"alpha", "beta", "sigma", "kappa"}
	if !f.coherency {
		names = names[:3]
	}
	return names
}

// Bind implements [Form].
func (f *uslForm) Bind(x []float64) Curve {
	unit := f.s.Time
	if f.async {
		unit = f.s.Step
	}
	t := &USL{
		Alpha: unit * math.Exp(x[0]), Beta: unit / f.s.Batch * math.Exp(x[1]),
		Sigma: math.Exp(x[2]), Async: f.async, refBatch: f.s.Batch,
	}
	if f.coherency {
		t.Kappa = math.Exp(x[3])
	}
	return t
}

// Starts implements [Form].
func (f *uslForm) Starts() []map[string]float64 {
	return []map[string]float64{{}, {"sigma": 2}, {"alpha": -2, "sigma": -2}, {"sigma": -4, "kappa": -4}}
}

// Gradient implements [Form].
func (f *uslForm) Gradient(x []float64, p *Point, step, compute []float64) {
	t := f.Bind(x).(*USL)
	compute[0] = t.Alpha / (t.Alpha + t.Beta*p.Batch)
	compute[1] = 1 - compute[0]
	k := p.Workers
	slowdown := 1 + t.Sigma*(k-1) + t.Kappa*k*(k-1)
	copy(step, compute)
	step[2] = t.Sigma * (k - 1) / slowdown
	if f.coherency {
		step[3] = t.Kappa * k * (k - 1) / slowdown
	}
}
