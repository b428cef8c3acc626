package speed

import (
	"math"

	"knee/fit/prior"
	"knee/fit/speed/form"
)

// kernel is the covariance of what a form leaves over of ln step time.
//
//	cov = Σ Slope²·u·u' + Batch²·kb + SameBatch²·[same batch] + (Place² + PlaceBatch²·kb)·kp + Knobs²·ka
//
// with u the logarithms of workers, servers and batch relative to
// their mean: powers beyond the form, which carry a trend that it misses on
// beyond the measured range. kb is squared exponential over batches, kp over placements of several
// workers, and ka over everything together, the study's own knobs included,
// where there are any.
type kernel struct {
	prior.Kernel
	center  slopes    // mean of what the slopes are multiplied with
	smooth  bool      // there is a process; published families have noise alone
	weights []float64 // influence of each knob coordinate, then of each of baseDims, relative to the usual; nil without knobs
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
	alone, shared := k.batchCov(a, b)
	u, v := k.slopes(a), k.slopes(b)
	c := alone + shared*place
	for i := range u {
		c += u[i] * v[i]
	}
	if len(k.weights) > 0 {
		c += k.knobCov(a, b)
	}
	if a.Type != b.Type {
		c *= k.TypeShare
	}
	return c
}

// slopes are what step time grows with as a power.
type slopes [4]float64

func slopesOf(p *form.Point) slopes {
	return slopes{p.LnWorkers, p.LnServers, p.LnBatch, p.LnSplit}
}

// slopes returns those of a point, centred and times their amplitudes.
func (k *kernel) slopes(p *form.Point) slopes {
	u := slopesOf(p)
	for i, a := range [...]float64{k.SlopeWorkers, k.SlopeServers, k.SlopeBatch, k.SlopeSplit} {
		u[i] = (u[i] - k.center[i]) * a
	}
	return u
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

// baseDims is the number of dimensions beside the knobs whose influence in
// knobCov is inferred: the batch; workers, nodes and servers; micro-steps.
const baseDims = 3

func (k *kernel) knobCov(a, b *form.Point) float64 {
	base := k.weights[len(k.weights)-baseDims:]
	dk, dn, dp := a.LnWorkers-b.LnWorkers, a.LnNodes-b.LnNodes, a.LnServers-b.LnServers
	d := sq(base[0]*(a.LnBatch+a.LnSplit-b.LnBatch-b.LnSplit)) + sq(base[1])*(dk*dk+dn*dn+dp*dp) +
		sq(base[2]*(math.Log1p(a.Accum)-math.Log1p(b.Accum)))
	d /= k.KnobAll * k.KnobAll
	var e float64
	for i := range a.Knobs {
		x := k.weights[i] * (a.Knobs[i] - b.Knobs[i])
		e += x * x
	}
	return sq(k.Knobs) * math.Exp(-.5*(d+e/(k.KnobLength*k.KnobLength)))
}

// computeCov is the covariance of ln compute time.
func (k *kernel) computeCov(a, b *form.Point) float64 {
	if !k.smooth {
		return 0
	}
	db := (a.LnBatch + a.LnSplit - b.LnBatch - b.LnSplit) / k.BatchLength
	c := k.Compute*k.Compute*math.Exp(-.5*db*db) +
		sq(k.SlopeBatch)*(a.LnBatch-k.center[2])*(b.LnBatch-k.center[2]) + sq(k.SlopeSplit)*(a.LnSplit-k.center[3])*(b.LnSplit-k.center[3])
	if a.Type != b.Type {
		c *= k.TypeShare
	}
	return c
}
