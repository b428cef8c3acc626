package fit

import (
	"math"

	"knee/data"
)

// OptimusAsync is the speed model of Optimus for asynchronous training
// (EuroSys'18, equation 3). The job makes f updates per second,
//
//	f = k / (Theta[0] + Theta[1]·k/p + Theta[2]·k + Theta[3]·p)
//
// and T = 1/f is the time of one update of the whole job.
type OptimusAsync struct {
	Theta [4]float64 // s, s, s/worker, s/ps
}

// StepTime implements [StepTimer].
func (t *OptimusAsync) StepTime(c data.Config) float64 {
	p := pointOf(c, scale{batch: 1, global: 1})
	step, _ := t.logTimes(&p)
	return math.Exp(step)
}

func (t *OptimusAsync) logTimes(p *point) (step, compute float64) {
	return math.Log(sumTerms(t.Theta[:], optimusAsyncTerms(p))),
		math.Log(sumTerms(t.Theta[:1], []float64{1}) / (p.accum + 1))
}

func (t *OptimusAsync) params() []Param {
	return []Param{
		param("theta0", "s", t.Theta[0]),
		param("theta1", "s", t.Theta[1]),
		param("theta2", "s/worker", t.Theta[2]),
		param("theta3", "s/ps", t.Theta[3]),
	}
}

func optimusAsyncTerms(p *point) []float64 {
	return []float64{1 / p.workers, 1 / p.servers, 1, p.servers / p.workers}
}

type optimusAsyncForm struct{ p prior }

func newOptimusAsyncForm(_ data.Mode, pts []point, s scale) form {
	f := &optimusAsyncForm{}
	f.p = linearPrior(f, pts, s.step)
	return f
}

func (f *optimusAsyncForm) name() string                { return "optimus-async" }
func (f *optimusAsyncForm) features(p *point) []float64 { return optimusAsyncTerms(p) }
func (f *optimusAsyncForm) prior() prior                { return f.p }
func (f *optimusAsyncForm) starts() [][]float64         { return nil }
func (f *optimusAsyncForm) kernel() kernel              { return plainKernel{} }
func (f *optimusAsyncForm) bind(x []float64) curve      { return &OptimusAsync{Theta: [4]float64(x)} }
