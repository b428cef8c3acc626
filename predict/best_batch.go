package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/fit/speed"
)

// batchSteps is the number of global batches tried, as in Pollux's scheduler.
const batchSteps = 50

// batchLimits bounds the choice of a batch. Samples.
type batchLimits struct {
	initial, max       float64 // global
	localMin, localMax float64
	accumulate         bool
	// pair makes one worker above the initial batch accumulate at least once:
	// gradient statistics of one worker need two gradients.
	pair bool
	// clip lowers local batches above localMax instead of skipping them.
	clip bool
}

// choices lists batches for k workers by Pollux's rule (OSDI'21, section 4.1, and its
// published scheduler): 50 geometric steps of the global batch M from max(initial,
// localMin·k) to max; s = ⌈M/k/localMax⌉−1 accumulation steps; local batch ⌈M/k/(s+1)⌉, in
// whole samples.
func (l batchLimits) choices(k float64) []speed.Batch {
	const eps = 1e-8 // a batch that is whole up to rounding is whole
	lo, hi := math.Max(l.initial, l.localMin*k), l.max
	if lo > hi {
		return nil
	}
	var out []speed.Batch
	for i := range batchSteps {
		global := lo * math.Pow(hi/lo, float64(i)/(batchSteps-1))
		local := global / k
		var b speed.Batch
		if l.accumulate {
			b.Accum = max(int(math.Ceil(local/l.localMax-eps))-1, 0)
			if l.pair && k == 1 && local > l.initial+eps {
				b.Accum = max(b.Accum, 1)
			}
		}
		b.Local = math.Ceil(local/float64(b.Accum+1) - eps)
		if l.clip {
			b.Local = math.Min(b.Local, l.localMax)
		}
		if b.Local >= l.localMin && b.Local <= l.localMax {
			out = append(out, b)
		}
	}
	return slices.Compact(out)
}

// round lists customary batches for k workers: local ones that were measured, and 1, 3, 5
// or 7 times a power of two; if allowed also with 1, 3, 7 … accumulation steps when twice
// the local batch would exceed localMax.
func (l batchLimits) round(k float64, measured []float64) []speed.Batch {
	sizes := slices.Clone(measured)
	for b := 1.; b <= l.localMax; b *= 2 {
		sizes = append(sizes, b, 3*b, 5*b, 7*b)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	out := make([]speed.Batch, 0, len(sizes))
	for _, b := range sizes {
		for s := 0; b >= l.localMin && b <= l.localMax && k*b*float64(s+1) <= l.max; s = 2*s + 1 {
			if k*b*float64(s+1) >= l.initial {
				out = append(out, speed.Batch{Local: b, Accum: s})
			}
			if !l.accumulate || 2*b <= l.localMax {
				break
			}
		}
	}
	return out
}

// atMost lowers batches of k workers that rounding raised above the global most, 0 for no
// limit, and drops those then below localMin.
func atMost(batches []speed.Batch, k, most, localMin float64) []speed.Batch {
	if most > 0 {
		for i := range batches {
			b := &batches[i]
			b.Local = math.Min(b.Local, math.Floor(most/k/float64(b.Accum+1)))
		}
	}
	return slices.DeleteFunc(batches, func(b speed.Batch) bool { return b.Local < localMin })
}

// BestBatch chooses the local batch and accumulation steps that maximise goodput for the
// workers, servers, GPU type and mode of c. Candidates are measured and round batches;
// within one standard error of the best, measured ones and powers of two are preferred. If
// the limits allow none, candidates follow Pollux's rule in 50 geometric steps, rounded down
// where rounding up would exceed Batch.Max. Accumulation is a candidate only if allowed
// ([Predictor.Accumulate]), measured, or needed for the initial batch.
//
// Local batches stay within the measured range, and are halved until they fit with
// [LeastFits]. The global batch ranges from the initial one, by default the smallest local
// batch on every worker, to Batch.Max, by default the largest without accumulation. If no
// batch is known, or in ps-async, where an update sees one worker's batch, [Predictor.At]
// fills it in.
//
// If layouts were measured, c gets the layout with the largest goodput by expected step
// time, at the initial batch or, if the batch may be adapted, a power of two times it.
//
// It fails with a *data.InputError if the smallest local batch on all workers exceeds
// Batch.Max, or if the workers are too few for the initial batch.
func (p *Predictor) BestBatch(c data.Config) (Answer, error) {
	c, err := p.chooseBatch(c)
	if err != nil {
		return Answer{}, err
	}
	return p.At(c)
}

func (p *Predictor) chooseBatch(c data.Config) (data.Config, error) {
	c.LocalBatch, c.AccumSteps = 0, 0
	c, err := p.resolve(c)
	if err != nil {
		return c, err
	}
	if c.Plain() && c.Mode == data.AllReduce && p.Model.Layouts(c.GPUType) != nil {
		return p.chooseLayout(c)
	}
	if p.GlobalBatch > 0 {
		c.LocalBatch = p.GlobalBatch / float64(c.Workers)
		return p.divided(c)
	}
	l := p.limits(c)
	if l.localMax == 0 || c.Mode == data.PSAsync {
		return c, nil
	}
	if fixed, ok := p.fixedBatch(c); ok {
		return p.divided(fixed)
	}
	measured, accumulated := p.Model.LocalBatches(c.GPUType, c.Mode)
	l.accumulate = p.Accumulate || accumulated || float64(c.Workers)*l.localMax < l.initial
	batches := l.round(float64(c.Workers), measured)
	if len(batches) == 0 {
		batches = atMost(l.choices(float64(c.Workers)), float64(c.Workers), p.batch().Max, l.localMin)
	}
	if len(batches) == 0 {
		return c, data.Invalid("workers", c.Workers, fmt.Sprintf("workers that can share a global batch of %.6g to %.6g samples in local batches of %.6g to %.6g, as measured",
			l.initial, l.max, l.localMin, l.localMax))
	}
	goodput, err := p.Model.Central(c, batches) // step times as yet
	if err != nil {
		return c, err
	}
	for i, b := range batches {
		c.LocalBatch, c.AccumSteps = b.Local, b.Accum
		goodput[i] = c.SamplesPerStep() / goodput[i] * p.efficiency(c).Mean
	}
	best := floats.MaxIdx(goodput)
	if !plain(batches[best].Local, measured) {
		best, err = p.plainer(c, batches, goodput, best, measured)
	}
	c.LocalBatch, c.AccumSteps = batches[best].Local, batches[best].Accum
	return c, err
}

// plain reports whether a local batch was measured or is a power of two.
func plain(local float64, measured []float64) bool {
	fraction, _ := math.Frexp(local)
	return fraction == 0.5 || slices.Contains(measured, local)
}

// plainer returns the plain choice with the largest goodput, if within one standard error
// (the lower half of the 90 % interval of ln goodput over the normal quantile) of best,
// else best (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3).
func (p *Predictor) plainer(c data.Config, batches []speed.Batch, goodput []float64, best int, measured []float64) (int, error) {
	const normal95 = 1.6449 // quantile of the standard normal
	c.LocalBatch, c.AccumSteps = batches[best].Local, batches[best].Accum
	a, err := p.At(c)
	if err != nil {
		return best, err
	}
	chosen, within := best, math.Pow(a.Goodput.Lo/a.Goodput.Mean, 1/normal95)*goodput[best]
	for i, g := range goodput {
		if g >= within && plain(batches[i].Local, measured) && (chosen == best || g > goodput[chosen]) {
			chosen = i
		}
	}
	return chosen, nil
}

// divided accumulates a global batch that was divided among the workers. It fails if
// a worker gets less than a sample, unless as little was measured.
func (p *Predictor) divided(c data.Config) (data.Config, error) {
	least := 1.
	if lo, _ := p.Model.BatchRange(c.GPUType, c.Mode); lo > 0 {
		least = min(least, lo)
	}
	if c.LocalBatch < least*(1-1e-9) {
		return c, data.Invalid("global_batch", math.Round(c.LocalBatch*float64(c.Workers)), fmt.Sprintf("at least a sample for each of %d workers", c.Workers))
	}
	return p.Accumulated(c), nil
}

// FixedBatch is the global batch that all measurements of a GPU type and mode have,
// samples; 0 if they differ.
func (p *Predictor) FixedBatch(gpuType string, mode data.Mode) float64 {
	lo, hi, fixed := p.Model.GlobalBatch(gpuType, mode)
	if whole := math.Round(hi); fixed && hi <= lo*1.001 && whole >= lo*(1-1e-9) && whole <= hi*(1+1e-9) {
		return whole // of 3 × 85.33 and 2 × 128 the latter
	}
	if !fixed || hi > lo*1.001 {
		return 0
	}
	return lo
}

// fixedBatch returns c with the global batch that all measurements have, if one.
func (p *Predictor) fixedBatch(c data.Config) (data.Config, bool) {
	global := p.FixedBatch(c.GPUType, c.Mode)
	if global == 0 {
		return c, false
	}
	c.LocalBatch = global / float64(c.Workers)
	if whole := math.Round(c.LocalBatch); math.Abs(c.LocalBatch-whole) < 1e-9*whole {
		c.LocalBatch = whole // removes rounding error: 63.99999999999998 is 64
	}
	return c, true
}

func (p *Predictor) limits(c data.Config) batchLimits {
	lo, hi := p.Model.BatchRange(c.GPUType, c.Mode)
	initial, k := p.initialBatch(c), float64(c.Workers)
	most := cmp.Or(p.batch().Max, math.Max(hi*k, initial))
	for c.LocalBatch = hi; hi >= 2*lo && !p.fits(c); c.LocalBatch = hi {
		hi = math.Floor(hi / 2)
	}
	return batchLimits{localMin: lo, localMax: hi, initial: cmp.Or(initial, math.Min(lo*k, most)), max: most, clip: true}
}
