package form

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
	refBatch     float64 // samples, for an unknown batch
}

// loneSync is the synchronisation time, s, of one worker in the published
// implementation, which keeps its logarithm finite.
const loneSync = 1e-8

// StepTime implements [StepTimer].
func (t *Pollux) StepTime(c data.Config) float64 {
	p := NewPoint(c, Scale{Batch: math.Max(t.refBatch, 1), Global: 1})
	step, _ := t.LogTimes(&p)
	return math.Exp(step)
}

// LogTimes implements [Curve].
func (t *Pollux) LogTimes(p *Point) (step, compute float64) {
	acc := t.AlphaCompute + t.BetaCompute*p.Batch
	sync := t.sync(p)
	// relative to the larger term, to avoid overflow
	large := math.Max(acc, sync)
	opt := large * math.Pow(math.Pow(acc/large, t.Gamma)+math.Pow(sync/large, t.Gamma), 1/t.Gamma)
	return math.Log(p.Accum*acc + opt), math.Log(acc)
}

// sync returns the seconds of synchronisation.
func (t *Pollux) sync(p *Point) float64 {
	switch beyond := math.Max(p.Workers-2, 0); {
	case p.Nodes > 1:
		return t.AlphaInter + t.BetaInter*beyond
	case p.Workers > 1:
		return t.AlphaIntra + t.BetaIntra*beyond
	}
	return loneSync
}

// Params implements [Fitted].
func (t *Pollux) Params() []Param {
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
type polluxForm struct{ s Scale }

// Names implements [Form].
func (f *polluxForm) Names() []string {
	return []string{"alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "gamma"}
}

// Bind implements [Form].
func (f *polluxForm) Bind(x []float64) Curve {
	t := f.s.Time
	return &Pollux{
		AlphaCompute: t * math.Exp(x[0]), BetaCompute: t / f.s.Batch * math.Exp(x[1]),
		AlphaInter: t * math.Exp(x[2]), BetaInter: t * math.Exp(x[3]),
		AlphaIntra: t * math.Exp(x[4]), BetaIntra: t * math.Exp(x[5]),
		Gamma: 1 + 9*logistic(x[6]), refBatch: f.s.Batch,
	}
}

// Starts implements [Form].
func (f *polluxForm) Starts() []map[string]float64 {
	return []map[string]float64{{}, {"alpha_c": 1, "beta_c": -2, "gamma": 2}, {"alpha_n": 2, "alpha_r": 2, "gamma": -1}}
}

// Gradient implements [Form].
func (f *polluxForm) Gradient(x []float64, p *Point, step, compute []float64) {
	t := f.Bind(x).(*Pollux)
	lnStep, lnAcc := t.LogTimes(p)
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
	beyond := math.Max(p.Workers-2, 0)
	switch {
	case p.Nodes > 1:
		step[2], step[3] = share*w*t.AlphaInter/sync, share*w*t.BetaInter*beyond/sync
	case p.Workers > 1:
		step[4], step[5] = share*w*t.AlphaIntra/sync, share*w*t.BetaIntra*beyond/sync
	}
	g := logistic(x[6])
	step[6] = share * (w*lnSync + (1-w)*lnAcc - opt) / t.Gamma * 9 * g * (1 - g)
}
