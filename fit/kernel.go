package fit

import "math"

// kernel is the covariance of what a form leaves over: of the difference
// between measured and predicted ln step time.
type kernel interface {
	// cov is the covariance of the smooth residual at two points.
	cov(a, b *point) float64
	// computeCov is the same for ln compute time.
	computeCov(a, b *point) float64
	// own is the sd of the part that belongs to one configuration alone and
	// of the run-to-run noise, for step and compute time; own of zero means
	// that it is estimated from the residuals.
	own() (step, compute float64)
	// extra is the sd that predictions carry on top of own: what further
	// runs and unmodelled knobs add.
	extra() float64
}

// plainKernel is for the published families: no process, noise estimated.
type plainKernel struct{}

func (plainKernel) cov(_, _ *point) float64        { return 0 }
func (plainKernel) computeCov(_, _ *point) float64 { return 0 }
func (plainKernel) own() (step, compute float64)   { return 0, 0 }
func (plainKernel) extra() float64                 { return 0 }

// collectiveKernel has fixed hyperparameters: re-tuning them per job helps
// interpolation with many rows and breaks extrapolation. Distances are in
// log2, so that a factor of two is one unit everywhere.
type collectiveKernel struct{}

func (collectiveKernel) cov(a, b *point) float64 {
	db := (a.lnBatch - b.lnBatch) / math.Ln2
	kb := math.Exp(-.5 * db * db)
	v := .05 * .05 * kb
	same := math.Abs(db) < 1e-9
	if same {
		v += .04 * .04
	}
	if a.workers <= 1 || b.workers <= 1 {
		return v
	}
	dn := (a.lnNodes - b.lnNodes) / (.8 * math.Ln2)
	dg := (a.lnWidest - b.lnWidest) / (.8 * math.Ln2)
	// How uneven the placement is: 1 for an even spread.
	du := (a.lnWidest + a.lnNodes - a.lnWorkers - b.lnWidest - b.lnNodes + b.lnWorkers) / (.5 * math.Ln2)
	kc := math.Exp(-.5 * (dn*dn + dg*dg + du*du))
	if (a.nodes > 1) != (b.nodes > 1) {
		kc /= 2 // other links, other noise
	}
	return v + (.08*.08+.04*.04*kb)*kc
}

func (collectiveKernel) computeCov(a, b *point) float64 {
	db := (a.lnBatch - b.lnBatch) / math.Ln2
	return .06 * .06 * math.Exp(-.5*db*db)
}

func (collectiveKernel) own() (step, compute float64) { return .04, .05 }
func (collectiveKernel) extra() float64               { return .03 }

// serverKernel lets the residual vary smoothly over workers, servers and batch.
type serverKernel struct{}

func (serverKernel) cov(a, b *point) float64 {
	dk := (a.lnWorkers - b.lnWorkers) / math.Ln2
	dp := (a.lnServers - b.lnServers) / math.Ln2
	dm := (a.lnGlobal - b.lnGlobal) / math.Ln2
	return .12 * .12 * math.Exp(-.5*(dk*dk+dp*dp+dm*dm))
}

func (serverKernel) computeCov(a, b *point) float64 {
	return collectiveKernel{}.computeCov(a, b)
}

func (serverKernel) own() (step, compute float64) { return .05, .05 }
func (serverKernel) extra() float64               { return .03 }
