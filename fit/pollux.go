package fit

import (
	"math"

	"knee/data"
)

// Pollux is the throughput model of Pollux (OSDI'21, equations 8 to 11).
//
//	T_compute = AlphaCompute + BetaCompute·b
//	T_sync = AlphaInter + BetaInter·max(k−2, 0)   on several nodes
//	         AlphaIntra + BetaIntra·max(k−2, 0)   on one node, 0 for one worker
//	T = s·T_compute + (T_compute^γ + T_sync^γ)^(1/γ)
type Pollux struct {
	AlphaCompute float64 // s
	BetaCompute  float64 // s/sample
	AlphaInter   float64 // s
	BetaInter    float64 // s/worker
	AlphaIntra   float64 // s
	BetaIntra    float64 // s/worker
	Gamma        float64 // 1 to 10
	refBatch     float64 // what an unknown batch means
}

// loneSync is the synchronisation time, in seconds, that the published
// implementation leaves a lone worker so that its logarithm is a number.
const loneSync = 1e-8

// StepTime implements [StepTimer].
func (t *Pollux) StepTime(c data.Config) float64 {
	p := pointOf(c, scale{batch: math.Max(t.refBatch, 1), global: 1})
	step, _ := t.logTimes(&p)
	return math.Exp(step)
}

func (t *Pollux) logTimes(p *point) (step, compute float64) {
	acc := t.AlphaCompute + t.BetaCompute*p.batch
	sync := t.sync(p)
	// The norm relative to its larger term, which cannot overflow.
	large := math.Max(acc, sync)
	opt := large * math.Pow(math.Pow(acc/large, t.Gamma)+math.Pow(sync/large, t.Gamma), 1/t.Gamma)
	return math.Log(p.accum*acc + opt), math.Log(acc)
}

// sync returns the seconds of synchronisation.
func (t *Pollux) sync(p *point) float64 {
	switch beyond := math.Max(p.workers-2, 0); {
	case p.nodes > 1:
		return t.AlphaInter + t.BetaInter*beyond
	case p.workers > 1:
		return t.AlphaIntra + t.BetaIntra*beyond
	}
	return loneSync
}

func (t *Pollux) params() []Param {
	return []Param{
		param("alpha_c", "s", t.AlphaCompute),
		param("beta_c", "s/sample", t.BetaCompute),
		param("alpha_n", "s", t.AlphaInter),
		param("beta_n", "s/worker", t.BetaInter),
		param("alpha_r", "s", t.AlphaIntra),
		param("beta_r", "s/worker", t.BetaIntra),
		param("gamma", "", t.Gamma),
	}
}

// polluxForm scales Pollux to one set of measurements.
type polluxForm struct{ s scale }

func newPolluxForm(_ data.Mode, _ []point, s scale) form { return &polluxForm{s} }

func (f *polluxForm) name() string { return "pollux" }

func (f *polluxForm) bind(x []float64) curve {
	t := f.s.compute
	return &Pollux{
		AlphaCompute: t * math.Exp(x[0]), BetaCompute: t / f.s.batch * math.Exp(x[1]),
		AlphaInter: t * math.Exp(x[2]), BetaInter: t * math.Exp(x[3]),
		AlphaIntra: t * math.Exp(x[4]), BetaIntra: t * math.Exp(x[5]),
		Gamma: 1 + 9*logistic(x[6]), refBatch: f.s.batch,
	}
}

// prior is weak, as the published fit has almost none: a factor of e² either
// way around shares of the typical compute time.
func (f *polluxForm) prior() prior {
	return prior{
		mean: []float64{-.7, -.7, -1, -4, -1.5, -4, -1.5},
		sd:   []float64{1.5, 1.5, 2, 2, 2, 2, 1.5},
	}
}

func (f *polluxForm) starts() [][]float64 {
	mean := f.prior().mean
	return [][]float64{
		mean,
		shifted(mean, map[int]float64{0: 1, 1: -2, 6: 2}),
		shifted(mean, map[int]float64{2: 2, 4: 2, 6: -1}),
	}
}

// gradient implements [gradienter]; the norm of the two times is a logSumExp
// of their logarithms.
func (f *polluxForm) gradient(x []float64, p *point, step, compute []float64) {
	t := f.bind(x).(*Pollux)
	lnStep, lnAcc := t.logTimes(p)
	sync := t.sync(p)
	acc := math.Exp(lnAcc)
	compute[0] = t.AlphaCompute / acc
	compute[1] = 1 - compute[0]
	lnSync := math.Log(sync)
	opt := logSumExp(t.Gamma*lnAcc, t.Gamma*lnSync) / t.Gamma
	share := math.Exp(opt - lnStep)
	w := math.Exp(t.Gamma * (lnSync - opt))
	for j := range 2 {
		step[j] = (1 - share*w) * compute[j]
	}
	beyond := math.Max(p.workers-2, 0)
	switch {
	case p.nodes > 1:
		step[2], step[3] = share*w*t.AlphaInter/sync, share*w*t.BetaInter*beyond/sync
	case p.workers > 1:
		step[4], step[5] = share*w*t.AlphaIntra/sync, share*w*t.BetaIntra*beyond/sync
	}
	g := logistic(x[6])
	step[6] = share * (w*lnSync + (1-w)*lnAcc - opt) / t.Gamma * 9 * g * (1 - g)
}

func (f *polluxForm) kernel() kernel { return plainKernel{} }
