package meter

import (
	"math"
	"slices"
)

const mostBatches = 1024

type batch struct {
	n       int     // steps
	sum, sq float64 // Σ seconds, Σ seconds²
	sync    float64 // Σ seconds spent synchronising
	syncs   int     // steps that reported it
}

func (b *batch) add(o batch) {
	b.n += o.n
	b.sum += o.sum
	b.sq += o.sq
	b.sync += o.sync
	b.syncs += o.syncs
}

func (b batch) mean() float64 { return b.sum / float64(b.n) }

// series holds the step times of a trial as batches of consecutive steps. At
// mostBatches, pairs of neighbours are merged, so that memory is bounded.
type series struct {
	per     int // steps in a batch
	batches []batch
	steps   int
	elapsed float64 // Σ seconds
}

// add takes the seconds of one step, and those of them spent synchronising, NaN
// if not known.
func (s *series) add(seconds, sync float64) {
	one := batch{n: 1, sum: seconds, sq: seconds * seconds}
	if sync >= 0 {
		one.sync, one.syncs = sync, 1
	}
	s.per = max(s.per, 1)
	if n := len(s.batches); n == 0 || s.batches[n-1].n == s.per {
		if n == mostBatches {
			s.batches = merged(s.batches, 2)
			s.per *= 2
		}
		s.batches = append(s.batches, batch{})
	}
	s.batches[len(s.batches)-1].add(one)
	s.steps++
	s.elapsed += seconds
}

// merged returns batches of k times the size, the incomplete one, of warm-up,
// first.
func merged(bs []batch, k int) []batch {
	out := bs[:0:0]
	for end := len(bs); end > 0; end -= k {
		var b batch
		for _, o := range bs[max(0, end-k):end] {
			b.add(o)
		}
		out = append(out, b)
	}
	slices.Reverse(out)
	return out
}

func summary(bs []batch) (steps int, mean, sd, sync float64) {
	var all batch
	for _, b := range bs {
		all.add(b)
	}
	n := float64(all.n)
	if all.n == 0 {
		return 0, 0, 0, 0
	}
	mean = all.sum / n
	if all.n > 1 {
		sd = math.Sqrt(math.Max(0, all.sq-n*mean*mean) / (n - 1))
	}
	if sd < 1e-7*mean {
		sd = 0 // equal up to rounding of the sums
	}
	if all.syncs > 0 {
		sync = all.sync / float64(all.syncs)
	}
	return all.n, mean, sd, sync
}
