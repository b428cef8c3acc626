package bayesopt

import (
	"maps"
	"math"
	"slices"
	"strings"

	"knee/data"
)

const (
	// afterFailure is by how much a failure for lack of memory lowers the
	// chance of what needs no less, where that is not certain to fail.
	afterFailure = 0.01
	// fitsAnotherDoubling is the chance that twice the largest batch that
	// fitted does too, while none has failed.
	fitsAnotherDoubling = 0.75
	// nextFits is the least chance of the smallest batch of the table that is
	// larger than what fitted, while it has not failed: the limit is somewhere,
	// and the table need not have a batch near the middle of where it may be.
	nextFits = 0.25
	// moreMemory is how many times the batch that one GPU type could not hold
	// another may, per times its memory. What does not depend on the batch
	// takes its share of the smaller memory first: twice is for one of 16 GB
	// filled to 10 GB by it, against one of 40 GB.
	moreMemory = 2
)

// limits is what the trials say about how much of something fits: batches on
// one kind of worker, or memory that need not be there.
type limits struct {
	fits     float64   // the most that fitted, 0 if nothing was tried
	fails    []float64 // what did not
	unlikely []float64 // what is not expected to, by what failed with less memory
	next     float64   // the least above fits that can be tried, 0 if not known
}

// chance returns the probability that v fits. Whatever is no larger than what
// fitted does. Between the largest that fitted and the smallest that did not,
// it is the square of how far v is from the latter on a logarithmic scale: the
// limit may be anywhere between, and a trial that runs out of memory costs as
// much as one that does not would gain. At and above a failure every failure
// counts: other circumstances, such as more workers that state is sharded
// over, may differ.
func (l *limits) chance(v float64) float64 {
	least, below := math.Inf(1), 0
	for _, f := range l.fails {
		least = min(least, f)
		if f <= v {
			below++
		}
	}
	for _, u := range l.unlikely {
		if u > moreMemory*l.fits { // else what fitted has all but refuted it
			least = min(least, u)
		}
	}
	switch {
	case v <= l.fits:
		return 1
	case below > 0:
		return math.Pow(afterFailure, float64(below))
	case l.fits > 0 && !math.IsInf(least, 1):
		share := max(0, math.Log(least/v)/math.Log(least/l.fits))
		if v <= l.next {
			return max(share*share, nextFits)
		}
		return max(share*share, afterFailure)
	case !math.IsInf(least, 1):
		return max(1-v/least, afterFailure) // half of what failed: even odds
	case l.fits > 0:
		return math.Pow(fitsAnotherDoubling, math.Log2(v/l.fits))
	}
	return 1
}

// chances returns for every candidate the probability that it fits into
// memory, as far as the trials tell: by its batch, among comparable kinds of
// workers, and by the memory of its machine.
func (r *memoryRules) chances(cands []data.Config) []float64 {
	out := make([]float64, len(cands))
	for i := range out {
		out[i] = 1
	}
	if len(r.out)+len(r.fit) == 0 {
		return out
	}
	batches, scarcity := r.limitsOf(cands), &limits{}
	for _, c := range r.fit {
		if ram, ok := knob(c, memoryKnob); ok {
			scarcity.fits = max(scarcity.fits, 1/ram)
		}
	}
	for _, c := range r.out {
		if ram, ok := knob(c, memoryKnob); ok {
			scarcity.fails = append(scarcity.fails, 1/ram)
		}
	}
	for i, c := range cands {
		if l := batches[i]; l != nil {
			out[i] = l.chance(c.LocalBatch)
		}
		if ram, ok := knob(c, memoryKnob); ok && len(scarcity.fails) > 0 {
			out[i] *= scarcity.chance(1 / ram)
		}
	}
	return out
}

// limitsOf returns for every candidate what the trials say about its batch,
// nil for one without. Candidates of a kind share it.
func (r *memoryRules) limitsOf(cands []data.Config) []*limits {
	kinds, of := map[string]*limits{}, make([]*limits, len(cands))
	for i, c := range cands {
		if !(c.LocalBatch > 0) {
			continue
		}
		kind := kindOf(c)
		l := kinds[kind]
		if l == nil {
			l = r.batchLimits(c)
			kinds[kind] = l
		}
		if of[i] = l; c.LocalBatch > l.fits {
			l.next = min(l.next, c.LocalBatch)
		}
	}
	return of
}

// batchLimits returns what the trials say about batches on a candidate's kind
// of worker. What fitted a GPU type that has no more memory fits, and what did
// not fit one that has no less does not; one that has more is not expected to
// hold many times as much.
func (r *memoryRules) batchLimits(c data.Config) *limits {
	l := &limits{next: math.Inf(1)}
	comparable := func(o data.Config) bool {
		o.GPUType = c.GPUType
		return o.LocalBatch > 0 && kindOf(o) == kindOf(c)
	}
	for _, o := range r.fit {
		if noMoreMemory(o.GPUType, c.GPUType) && comparable(o) {
			l.fits = max(l.fits, o.LocalBatch)
		}
	}
	for _, o := range r.out {
		if !comparable(o) {
			continue
		}
		if noMoreMemory(c.GPUType, o.GPUType) {
			l.fails = append(l.fails, o.LocalBatch)
		} else if times := memoryRatio(c.GPUType, o.GPUType); times > 0 {
			l.unlikely = append(l.unlikely, moreMemory*times*o.LocalBatch)
		}
	}
	return l
}

// memoryRatio returns how many times the memory of GPU type b type a has, 0 if
// that is not known.
func memoryRatio(a, b string) float64 {
	x, known := data.FindGPU(a)
	y, both := data.FindGPU(b)
	if !known || !both || !(y.Memory > 0) {
		return 0
	}
	return x.Memory / y.Memory
}

// kindOf names a configuration's kind of worker: GPU type, mode and further
// knobs (precision, recomputation, …), as nothing is known about how they
// change memory.
func kindOf(c data.Config) string {
	key := c.GPUType + "|" + string(c.ModeOrDefault())
	if len(c.Extra) == 0 {
		return key
	}
	var b strings.Builder
	b.WriteString(key)
	for _, k := range slices.Sorted(maps.Keys(c.Extra)) {
		b.WriteString("|" + k + "=" + c.Extra[k])
	}
	return b.String()
}
