package predict

import (
	"fmt"
	"math"

	"knee/data"
)

// batchSteps is the number of global batches tried, geometrically spaced,
// as in Pollux's scheduler.
const batchSteps = 50

// batchChoice is one way to make up a global batch.
type batchChoice struct {
	local float64 // samples per worker per micro-step, whole
	accum int
}

// batchLimits bounds the choice of a batch. Samples.
type batchLimits struct {
	initial, max       float64 // global
	localMin, localMax float64
	accumulate         bool
	// clip makes the largest local batch of global batches that are too
	// large, so that exactly that one is tried too, instead of leaving them out.
	clip bool
}

// choices lists the batches worth trying on k workers, by Pollux's rule
// (OSDI'21, section 4.1, and its published scheduler): 50 geometric steps of
// the global batch M from max(initial, localMin·k) to max; s = ⌈M/k/localMax⌉−1
// accumulation steps; local batch ⌈M/k/(s+1)⌉, rounded up to whole samples.
// A lone worker above the initial batch accumulates at least once: gradient
// statistics need two gradients per step.
//
// It is empty if no batch is allowed.
func (l batchLimits) choices(k float64) []batchChoice {
	const eps = 1e-8 // a batch that is whole up to rounding is whole
	lo, hi := math.Max(l.initial, l.localMin*k), l.max
	if lo > hi {
		return nil
	}
	var out []batchChoice
	for i := range batchSteps {
		global := lo * math.Pow(hi/lo, float64(i)/(batchSteps-1))
		local := global / k
		c := batchChoice{}
		if l.accumulate {
			c.accum = max(int(math.Ceil(local/l.localMax-eps))-1, 0)
			if k == 1 && local > l.initial+eps {
				c.accum = max(c.accum, 1)
			}
		}
		c.local = math.Ceil(local/float64(c.accum+1) - eps)
		if l.clip {
			c.local = math.Min(c.local, l.localMax)
		}
		if c.local < l.localMin || c.local > l.localMax {
			continue
		}
		if len(out) == 0 || out[len(out)-1] != c {
			out = append(out, c)
		}
	}
	return out
}

// best returns the choice with the largest goodput, the first of equals;
// false if there is none.
func (l batchLimits) best(k float64, goodput func(batchChoice) float64) (batchChoice, bool) {
	var best batchChoice
	top, found := math.Inf(-1), false
	for _, c := range l.choices(k) {
		if g := goodput(c); g > top {
			best, top, found = c, g, true
		}
	}
	return best, found
}

// BestBatch chooses local batch and accumulation steps for the workers,
// servers, GPU type and mode of c (its batch is ignored) to maximise
// goodput, by Pollux's rule over 50 geometric steps.
//
// Local batches outside the measured range are not considered: larger ones
// may not fit into memory. The global batch starts at the initial one and
// ends at Batch.Max; without a limit, at the largest local batch on every
// worker, without accumulation. If the initial batch is not known it is the
// smallest local batch on every worker, and if no batch is known at all the
// answer is that of [Predictor.At]. In ps-async, where each worker's own
// batch is what an update sees, the batch stays what it is measured with.
//
// If the workers are so many that even the smallest local batch exceeds
// Batch.Max, or so few that the initial batch cannot be reached, it fails
// with a *data.InputError that says so.
func (p *Predictor) BestBatch(c data.Config) (Answer, error) {
	c, err := p.chooseBatch(c)
	if err != nil {
		return Answer{}, err
	}
	return p.At(c)
}

// chooseBatch returns c with the batch of [Predictor.BestBatch].
func (p *Predictor) chooseBatch(c data.Config) (data.Config, error) {
	c.LocalBatch, c.AccumSteps = 0, 0
	if p.Model == nil {
		return c, fmt.Errorf("predict: no model")
	}
	c, err := p.Model.Resolve(c)
	if err != nil {
		return c, err
	}
	l := p.limits(c)
	if l.localMax == 0 || c.Mode == data.PSAsync {
		return c, nil
	}
	if fixed, ok := p.fixedBatch(c); ok {
		return fixed, nil
	}
	var failed error
	choice, ok := l.best(float64(c.Workers), func(b batchChoice) float64 {
		c.LocalBatch, c.AccumSteps = b.local, b.accum
		t, err := p.Model.StepTime(c)
		if err != nil {
			failed = err
			return 0
		}
		return c.SamplesPerStep() / t * p.Model.Efficiency(c.GlobalBatch()).Mean
	})
	if failed != nil {
		return c, failed
	}
	if !ok {
		return c, &data.InputError{Source: data.Source{Column: "workers"}, Found: fmt.Sprint(c.Workers),
			Want: fmt.Sprintf("workers that can share a global batch of %.6g to %.6g samples in local batches of %.6g to %.6g, as measured",
				l.initial, l.max, l.localMin, l.localMax)}
	}
	c.LocalBatch, c.AccumSteps = choice.local, choice.accum
	return c, nil
}

// fixedBatch returns c with the batch of measurements that held the global
// batch constant, if nobody asked for another one.
func (p *Predictor) fixedBatch(c data.Config) (data.Config, bool) {
	lo, hi, fixed := p.Model.GlobalBatch(c.GPUType, c.Mode)
	if !fixed || p.batch().Adapt || hi > lo*1.001 {
		return c, false
	}
	c.LocalBatch = lo / float64(c.Workers)
	return c, true
}

// limits returns the limits of the batch for a resolved configuration.
func (p *Predictor) limits(c data.Config) batchLimits {
	lo, hi := p.Model.BatchRange(c.GPUType, c.Mode)
	l := batchLimits{localMin: lo, localMax: hi, initial: p.initialBatch(c), max: p.batch().Max, accumulate: true, clip: true}
	k := float64(c.Workers)
	if l.max == 0 {
		l.max = math.Max(hi*k, l.initial)
	}
	if l.initial == 0 {
		l.initial = math.Min(lo*k, l.max)
	}
	return l
}
