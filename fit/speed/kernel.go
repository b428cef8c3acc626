package speed

import (
	"math"

	"knee/fit/prior"
	"knee/fit/speed/form"
)

// kernel is the covariance of the residual of a form, in ln step time:
//
//	cov = Process²·(u·u' + kb + kb·kp + ks) + Knobs²·ka
//
// with u the logarithms of workers and batch relative to their mean, for trends
// beyond the form that continue outside the measured range. kb is squared
// exponential over batches, kp over placements of several workers, and ka over
// all of these and the study's own knobs, if any vary. ks, of layouts, is one for
// equal shapes of a GPU's matrices, else zero: libraries choose the kernels of each
// shape, so that times are rough over shapes, and alike whatever the replicas and stages.
type kernel struct {
	prior.Kernel
	tail    float64   // degrees of freedom of the variance between runs
	shared  float64   // correlation between GPU types
	center  slopes    // mean of the slopes' variables
	shapes  bool      // with ks
	smooth  bool      // false for published families, which have noise only
	weights []float64 // influence of each knob coordinate, then of each of baseDims, relative to the prior; nil without varied knobs
}

// cov is the covariance of the smooth residual at two points.
func (k *kernel) cov(a, b *form.Point) float64 {
	if !k.smooth {
		return 0
	}
	return k.covGiven(a, b, k.placeCov(a, b))
}

// covGiven is cov of points whose placeCov is known.
func (k *kernel) covGiven(a, b *form.Point, place float64) float64 {
	c := k.batchCov(a, b) * (1 + place)
	u, v := k.slopes(a), k.slopes(b)
	for i := range u {
		c += u[i] * v[i]
	}
	if k.shapes && a.SameShape(b) {
		c += k.Process * k.Process
	}
	if len(k.weights) > 0 {
		c += k.knobCov(a, b)
	}
	if a.Type != b.Type {
		c *= k.shared
	}
	return c
}

// slopes are the variables of power laws: ln workers and ln local batch.
type slopes [2]float64

func slopesOf(p *form.Point) slopes { return slopes{p.LnWorkers, p.LnBatch + p.LnSplit} }

// slopes returns the slopes' variables of a point, centred and times Process.
func (k *kernel) slopes(p *form.Point) slopes {
	u := slopesOf(p)
	for i := range u {
		u[i] = (u[i] - k.center[i]) * k.Process
	}
	return u
}

// batchCov returns the covariance of two batches, wherever the workers are.
func (k *kernel) batchCov(a, b *form.Point) float64 {
	db := (a.LnBatch + a.LnSplit - b.LnBatch - b.LnSplit) / k.Length
	return k.Process * k.Process * math.Exp(-.5*db*db)
}

// placeCov is 0 for single workers, which do not synchronise, and between known
// and unknown placements.
func (k *kernel) placeCov(a, b *form.Point) float64 {
	if a.Workers <= 1 || b.Workers <= 1 || a.Placed != b.Placed {
		return 0
	}
	dk, dp := a.LnWorkers-b.LnWorkers, a.LnServers-b.LnServers
	dn, dg := a.LnNodes-b.LnNodes, a.LnWidest-b.LnWidest
	return math.Exp(-.5 * (dk*dk + dp*dp + dn*dn + dg*dg) / (k.Length * k.Length))
}

// baseDims is the number of further dimensions of knobCov: batch; workers,
// nodes and servers; micro-steps.
const baseDims = 3

func (k *kernel) knobCov(a, b *form.Point) float64 {
	base := k.weights[len(k.weights)-baseDims:]
	dk, dn, dp := a.LnWorkers-b.LnWorkers, a.LnNodes-b.LnNodes, a.LnServers-b.LnServers
	d := sq(base[0]*(a.LnBatch+a.LnSplit-b.LnBatch-b.LnSplit)) + sq(base[1])*(dk*dk+dn*dn+dp*dp) +
		sq(base[2]*(math.Log1p(a.Accum)-math.Log1p(b.Accum)))
	for i := range a.Knobs {
		d += sq(k.weights[i] * (a.Knobs[i] - b.Knobs[i]))
	}
	return sq(k.Knobs) * math.Exp(-.5*d/sq(k.KnobLength))
}

// computeCov is the covariance of ln compute time.
func (k *kernel) computeCov(a, b *form.Point) float64 {
	if !k.smooth {
		return 0
	}
	c := k.batchCov(a, b) + k.slopes(a)[1]*k.slopes(b)[1]
	if a.Type != b.Type {
		c *= k.shared
	}
	return c
}
