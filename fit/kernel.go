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

// productKernel is a kernel of the form alone + shared·place, the first two of
// which depend on the batches only and the last on the placements only, so
// that many placements at one batch share most of the work.
type productKernel interface {
	kernel
	// batchCov returns alone and shared. Points with equal batchKey have
	// equal covariances with every other.
	batchCov(a, b *point) (alone, shared float64)
	batchKey(p *point) float64
	placeCov(a, b *point) float64
}

// collectiveKernel has fixed hyperparameters: re-tuning them per job helps
// interpolation with many rows and breaks extrapolation. Distances are in
// log2, so that a factor of two is one unit everywhere.
//
// Batches that differ by one sample may differ by a quarter in speed, and
// those that hold more powers of two are the fast ones: matrix units work on
// tiles. Hence the parts that belong to one batch and to batches of one
// alignment. Their amplitudes, and that of batch and placement together, were
// chosen looking at the step times of twelve jobs. Nearly all of the gain is
// that of one of them, whose batches differ most; by the errors of the other
// eleven alone the choice is open.
type collectiveKernel struct{}

func (k collectiveKernel) cov(a, b *point) float64 {
	alone, shared := k.batchCov(a, b)
	return alone + shared*k.placeCov(a, b)
}

func (collectiveKernel) batchCov(a, b *point) (alone, shared float64) {
	db := (a.lnBatch - b.lnBatch) / math.Ln2
	kb := math.Exp(-.5 * db * db)
	da := a.alignment - b.alignment
	alone = .05*.05*kb + .05*.05*math.Exp(-.5*da*da)
	if math.Abs(db) < 1e-9 {
		alone += .06 * .06
	}
	return alone, .08*.08 + .05*.05*kb
}

func (collectiveKernel) batchKey(p *point) float64 { return p.lnBatch }

func (collectiveKernel) placeCov(a, b *point) float64 {
	if a.workers <= 1 || b.workers <= 1 {
		return 0
	}
	dn := (a.lnNodes - b.lnNodes) / (.8 * math.Ln2)
	dg := (a.lnWidest - b.lnWidest) / (.8 * math.Ln2)
	// How uneven the placement is: 1 for an even spread.
	du := (a.lnWidest + a.lnNodes - a.lnWorkers - b.lnWidest - b.lnNodes + b.lnWorkers) / (.5 * math.Ln2)
	kc := math.Exp(-.5 * (dn*dn + dg*dg + du*du))
	if (a.nodes > 1) != (b.nodes > 1) {
		kc /= 2 // other links, other noise
	}
	return kc
}

func (collectiveKernel) computeCov(a, b *point) float64 {
	db := (a.lnBatch - b.lnBatch) / math.Ln2
	return .06 * .06 * math.Exp(-.5*db*db)
}

func (collectiveKernel) own() (step, compute float64) { return .04, .05 }
func (collectiveKernel) extra() float64               { return .03 }

// serverKernel lets the residual vary smoothly over workers, servers and
// batch. Amplitude and lengths were chosen on four measured jobs by their
// mean error, together with the means of the form's prior; all four gain.
type serverKernel struct{}

func (k serverKernel) cov(a, b *point) float64 {
	_, shared := k.batchCov(a, b)
	return shared * k.placeCov(a, b)
}

func (serverKernel) batchCov(a, b *point) (alone, shared float64) {
	dm := (a.lnGlobal - b.lnGlobal) / math.Ln2
	return 0, .08 * .08 * math.Exp(-.5*dm*dm)
}

func (serverKernel) batchKey(p *point) float64 { return p.lnGlobal }

func (serverKernel) placeCov(a, b *point) float64 {
	dk := (a.lnWorkers - b.lnWorkers) / (.7 * math.Ln2)
	dp := (a.lnServers - b.lnServers) / (.7 * math.Ln2)
	return math.Exp(-.5 * (dk*dk + dp*dp))
}

func (serverKernel) computeCov(a, b *point) float64 {
	return collectiveKernel{}.computeCov(a, b)
}

func (serverKernel) own() (step, compute float64) { return .05, .05 }
func (serverKernel) extra() float64               { return .03 }
