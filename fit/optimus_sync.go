package fit

import (
	"math"

	"knee/data"
)

// OptimusSync is the speed model of Optimus for synchronous training
// (EuroSys'18, equation 4):
//
//	T = Theta[0]·M/k + Theta[1] + Theta[2]·k/p + Theta[3]·k + Theta[4]·p
//
// with k workers, p servers and M samples per step. Without servers p is 1.
type OptimusSync struct {
	Theta    [5]float64 // s/sample, s, s, s/worker, s/ps
	ref      float64    // what an unknown batch means
	refFixed bool
}

// StepTime implements [StepTimer].
func (t *OptimusSync) StepTime(c data.Config) float64 {
	ref := math.Max(t.ref, 1)
	p := pointOf(c, scale{batch: ref, global: ref, fixed: t.refFixed})
	step, _ := t.logTimes(&p)
	return math.Exp(step)
}

func (t *OptimusSync) logTimes(p *point) (step, compute float64) {
	f := optimusSyncTerms(p)
	return math.Log(sumTerms(t.Theta[:], f)), math.Log(sumTerms(t.Theta[:2], f[:2]) / (p.accum + 1))
}

func (t *OptimusSync) params() []Param {
	return []Param{
		param("theta0", "s/sample", t.Theta[0]),
		param("theta1", "s", t.Theta[1]),
		param("theta2", "s", t.Theta[2]),
		param("theta3", "s/worker", t.Theta[3]),
		param("theta4", "s/ps", t.Theta[4]),
	}
}

func optimusSyncTerms(p *point) []float64 {
	return []float64{p.global / p.workers, 1, p.workers / p.servers, p.workers, p.servers}
}

type optimusSyncForm struct {
	s scale
	p prior
}

func newOptimusSyncForm(_ data.Mode, pts []point, s scale) form {
	f := &optimusSyncForm{s: s}
	f.p = linearPrior(f, pts, s.step)
	return f
}

func (f *optimusSyncForm) name() string                { return "optimus-sync" }
func (f *optimusSyncForm) features(p *point) []float64 { return optimusSyncTerms(p) }
func (f *optimusSyncForm) prior() prior                { return f.p }
func (f *optimusSyncForm) starts() [][]float64         { return nil }
func (f *optimusSyncForm) kernel() kernel              { return plainKernel{} }

func (f *optimusSyncForm) bind(x []float64) curve {
	ref := f.s.batch
	if f.s.fixed {
		ref = f.s.global
	}
	return &OptimusSync{Theta: [5]float64(x), ref: ref, refFixed: f.s.fixed}
}
