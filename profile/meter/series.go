package meter

import (
	"math"
	"slices"
	"time"
)

const mostBatches = 1024

type batch struct {
	n       int     // steps
	sum, sq float64 // Σ seconds, Σ seconds²
	sync    float64 // Σ seconds spent synchronising
	syncs   int     // steps that reported it
	told    float64 // Σ seconds of the steps whose lines came after the first line
	counted float64 // the same times the steps of the counter; NaN without one
	span    float64 // Σ seconds between the arrivals of lines
}

func (b *batch) add(o batch) {
	b.n += o.n
	b.sum += o.sum
	b.sq += o.sq
	b.sync += o.sync
	b.syncs += o.syncs
	b.told += o.told
	b.counted += o.counted
	b.span += o.span
}

func (b batch) mean() float64 { return b.sum / float64(b.n) }

// series holds the step times of a trial as batches of consecutive steps. At
// mostBatches, pairs of neighbours are merged, so that memory is bounded.
type series struct {
	per     int // steps in a batch
	batches []batch
	steps   int
	elapsed float64 // Σ seconds

	first, last time.Time // arrivals of the first and the latest line; zero if not known
	pause       float64   // seconds, longest between two arrivals
	rates       bool      // some times are computed from samples/s
}

// add takes one step, whose line arrived at a time.
func (s *series) add(at time.Time, one step) {
	b := batch{n: 1, sum: one.seconds, sq: one.seconds * one.seconds}
	if one.sync >= 0 {
		b.sync, b.syncs = one.sync, 1
	}
	if s.steps == 0 {
		s.first, s.last = at, at
	}
	if at.After(s.first) {
		b.told, b.counted, b.span = one.seconds, one.seconds*one.count, at.Sub(s.last).Seconds()
	}
	s.last, s.pause, s.rates = at, max(s.pause, b.span), s.rates || one.rate
	s.per = max(s.per, 1)
	if n := len(s.batches); n == 0 || s.batches[n-1].n == s.per {
		if n == mostBatches {
			s.batches = merged(s.batches, 2)
			s.per *= 2
		}
		s.batches = append(s.batches, batch{})
	}
	s.batches[len(s.batches)-1].add(b)
	s.steps++
	s.elapsed += one.seconds
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

// total adds up batches.
func total(bs []batch) (all batch) {
	for _, b := range bs {
		all.add(b)
	}
	return all
}

func summary(bs []batch) (steps int, mean, sd, sync float64) {
	all := total(bs)
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
