package fit

import (
	"math"

	"knee/data"
)

// Ernest is the performance model of Ernest (NSDI'16, section 3.2), with one
// optimizer step as the unit of work and its samples as the scale:
//
//	T = Theta[0] + Theta[1]·M/k + Theta[2]·ln k + Theta[3]·k
//
// with k workers and M samples per step. In ps-async k updates fall into
// that time.
type Ernest struct {
	Theta    [4]float64 // s, s/sample, s, s/worker
	Async    bool
	ref      float64 // what an unknown batch means
	refFixed bool
}

// StepTime implements [StepTimer].
func (t *Ernest) StepTime(c data.Config) float64 {
	ref := math.Max(t.ref, 1)
	p := pointOf(c, scale{batch: ref, global: ref, fixed: t.refFixed})
	step, _ := t.logTimes(&p)
	return math.Exp(step)
}

func (t *Ernest) logTimes(p *point) (step, compute float64) {
	f := ernestTerms(p, t.Async)
	step = math.Log(sumTerms(t.Theta[:], f))
	compute = math.Log(sumTerms(t.Theta[:2], f[:2]) / (p.accum + 1))
	if t.Async {
		compute += p.lnWorkers
	}
	return step, compute
}

func (t *Ernest) params() []Param {
	return []Param{
		param("theta0", "s", t.Theta[0]),
		param("theta1", "s/sample", t.Theta[1]),
		param("theta2", "s", t.Theta[2]),
		param("theta3", "s/worker", t.Theta[3]),
	}
}

func ernestTerms(p *point, async bool) []float64 {
	if async { // the global batch of an update is one worker's share
		k := p.workers
		return []float64{1 / k, p.global / k, p.lnWorkers / k, 1}
	}
	return []float64{1, p.global / p.workers, p.lnWorkers, p.workers}
}

type ernestForm struct {
	s     scale
	async bool
	p     prior
}

func newErnestForm(mode data.Mode, pts []point, s scale) form {
	f := &ernestForm{s: s, async: mode == data.PSAsync}
	f.p = linearPrior(f, pts, s.step)
	return f
}

func (f *ernestForm) name() string                { return "ernest" }
func (f *ernestForm) features(p *point) []float64 { return ernestTerms(p, f.async) }
func (f *ernestForm) prior() prior                { return f.p }
func (f *ernestForm) starts() [][]float64         { return nil }
func (f *ernestForm) kernel() kernel              { return plainKernel{} }

func (f *ernestForm) bind(x []float64) curve {
	ref := f.s.batch
	if f.s.fixed {
		ref = f.s.global
	}
	return &Ernest{Theta: [4]float64(x), Async: f.async, ref: ref, refFixed: f.s.fixed}
}
