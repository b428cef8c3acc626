package speed

import (
	"math"

	"knee/fit/prior"
	"knee/fit/speed/form"
)

// kernel is the covariance of what a form leaves over of ln step time.
//
//	cov = Batch²·kb + SameBatch²·[same batch] + (Place² + PlaceBatch²·kb)·kp + Knobs²·ka
//
// with kb squared exponential over batches, kp over placements of several
// workers, and ka over everything together, the study's own knobs included,
// where there are any.
type kernel struct {
	prior.Kernel
	smooth  bool      // there is a process; published families have noise alone
	weights []float64 // influence of each knob coordinate relative to the usual; nil without knobs
}

// cov is the covariance of the smooth residual at two points.
func (k *kernel) cov(a, b *form.Point) float64 {
	if !k.smooth {
		return 0
	}
	alone, shared := k.batchCov(a, b)
	c := alone
	if shared > 0 {
		c += shared * k.placeCov(a, b)
	}
	if len(k.weights) > 0 {
		c += k.knobCov(a, b)
	}
	if a.Type != b.Type {
		c *= k.TypeShare
	}
	return c
}

func (k *kernel) batchCov(a, b *form.Point) (alone, shared float64) {
	db := (a.LnBatch + a.LnSplit - b.LnBatch - b.LnSplit) / k.BatchLength
	kb := math.Exp(-.5 * db * db)
	alone = k.Batch * k.Batch * kb
	if math.Abs(db) < 1e-9 {
		alone += k.SameBatch * k.SameBatch
	}
	return alone, k.Place*k.Place + k.PlaceBatch*k.PlaceBatch*kb
}

// placeCov is zero for lone workers, which synchronise with nobody, and
// between placements that are known and that are not.
func (k *kernel) placeCov(a, b *form.Point) float64 {
	if a.Workers <= 1 || b.Workers <= 1 || a.Placed != b.Placed {
		return 0
	}
	dk, dp := (a.LnWorkers-b.LnWorkers)/k.Workers, (a.LnServers-b.LnServers)/k.Workers
	dn, dg := (a.LnNodes-b.LnNodes)/k.Nodes, (a.LnWidest-b.LnWidest)/k.Nodes
	return math.Exp(-.5 * (dk*dk + dp*dp + dn*dn + dg*dg))
}

func (k *kernel) knobCov(a, b *form.Point) float64 {
	db := a.LnBatch + a.LnSplit - b.LnBatch - b.LnSplit
	dk, dn := a.LnWorkers-b.LnWorkers, a.LnNodes-b.LnNodes
	da, dp := math.Log1p(a.Accum)-math.Log1p(b.Accum), a.LnServers-b.LnServers
	d := (db*db + dk*dk + dn*dn + da*da + dp*dp) / (k.KnobAll * k.KnobAll)
	var e float64
	for i, w := range k.weights {
		x := w * (a.Knobs[i] - b.Knobs[i])
		e += x * x
	}
	return k.Knobs * k.Knobs * math.Exp(-.5*(d+e/(k.KnobLength*k.KnobLength)))
}

// computeCov is the covariance of ln compute time.
func (k *kernel) computeCov(a, b *form.Point) float64 {
	if !k.smooth {
		return 0
	}
	db := (a.LnBatch + a.LnSplit - b.LnBatch - b.LnSplit) / k.BatchLength
	c := k.Compute * k.Compute * math.Exp(-.5*db*db)
	if a.Type != b.Type {
		c *= k.TypeShare
	}
	return c
}
