package fit

import (
	"math"

	"knee/data"
)

// USL is the Universal Scalability Law (Gunther, "Guerrilla Capacity
// Planning", 2007, chapter 4) for training. The law gives the speedup of k
// workers as k/(1 + σ(k−1) + κk(k−1)). With a local batch b each worker
// brings its own samples, so the law applies to samples per second and
//
//	T = (s+1)·(Alpha + Beta·b)·(1 + Sigma·(k−1) + Kappa·k·(k−1))
//
// which for one batch is the law itself and for several lets the time of a
// lone worker be linear in its batch. Kappa = 0 is Amdahl's law (1967) in
// the same clothes. In ps-async k updates fall into that time.
type USL struct {
	Alpha    float64 // s
	Beta     float64 // s/sample
	Sigma    float64 // contention
	Kappa    float64 // coherency
	Async    bool
	refBatch float64 // what an unknown batch means
}

// StepTime implements [StepTimer].
func (t *USL) StepTime(c data.Config) float64 {
	p := pointOf(c, scale{batch: math.Max(t.refBatch, 1), global: 1})
	step, _ := t.logTimes(&p)
	return math.Exp(step)
}

func (t *USL) logTimes(p *point) (step, compute float64) {
	compute = math.Log(t.Alpha + t.Beta*p.batch)
	k := p.workers
	step = compute + math.Log1p(p.accum) + math.Log1p(t.Sigma*(k-1)+t.Kappa*k*(k-1))
	if t.Async {
		step -= p.lnWorkers
	}
	return step, compute
}

func (t *USL) params() []Param {
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

// uslForm scales USL, with or without coherency, to one set of measurements.
type uslForm struct {
	s         scale
	coherency bool
	async     bool
	time      float64 // s, of one worker
}

func newUSLForm(mode data.Mode, pts []point, s scale) form {
	return newScalabilityForm(mode, pts, s, true)
}

func newScalabilityForm(mode data.Mode, pts []point, s scale, coherency bool) form {
	f := &uslForm{s: s, coherency: coherency, async: mode == data.PSAsync, time: s.compute}
	if f.async {
		var ln float64
		for i := range pts {
			ln += pts[i].lnWorkers / float64(len(pts))
		}
		f.time = s.step * math.Exp(ln)
	}
	return f
}

func (f *uslForm) name() string {
	if f.coherency {
		return "usl"
	}
	return "amdahl"
}

func (f *uslForm) bind(x []float64) curve {
	t := &USL{
		Alpha: f.time * math.Exp(x[0]), Beta: f.time / f.s.batch * math.Exp(x[1]),
		Sigma: math.Exp(x[2]), Async: f.async, refBatch: f.s.batch,
	}
	if f.coherency {
		t.Kappa = math.Exp(x[3])
	}
	return t
}

// prior is weak around a tenth of contention and a thousandth of coherency.
func (f *uslForm) prior() prior {
	p := prior{mean: []float64{-.7, -.7, -2.3, -7}, sd: []float64{1.5, 1.5, 2, 2}}
	if !f.coherency {
		p.mean, p.sd = p.mean[:3], p.sd[:3]
	}
	return p
}

func (f *uslForm) starts() [][]float64 {
	mean := f.prior().mean
	return [][]float64{mean, shifted(mean, map[int]float64{2: 2}), shifted(mean, map[int]float64{0: -2, 2: -2})}
}

// gradient implements [gradienter].
func (f *uslForm) gradient(x []float64, p *point, step, compute []float64) {
	t := f.bind(x).(*USL)
	compute[0] = t.Alpha / (t.Alpha + t.Beta*p.batch)
	compute[1] = 1 - compute[0]
	k := p.workers
	slowdown := 1 + t.Sigma*(k-1) + t.Kappa*k*(k-1)
	copy(step, compute)
	step[2] = t.Sigma * (k - 1) / slowdown
	if f.coherency {
		step[3] = t.Kappa * k * (k - 1) / slowdown
	}
}

func (f *uslForm) kernel() kernel { return plainKernel{} }
