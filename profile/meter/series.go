package meter

import (
	"math"
	"slices"
	"time"
)

const mostBatches = 1024

type batch struct {
	n       int     // lines that each ended a step
	steps   float64 // those of the counter that the lines stand for; n without one
	sum, sq float64 // Σ seconds, Σ seconds² of these steps
	sync    float64 // Σ seconds spent synchronising
	syncs   float64 // steps that reported it
	lines   float64 // Σ seconds of the lines, whatever they stand for
	told    float64 // Σ seconds of the steps whose lines came after the first line
	counted float64 // the same times the steps of the counter; NaN without one
	span    float64 // Σ seconds between the arrivals of lines
	units   float64 // Σ seconds that told times are rounded to
}

func (b *batch) add(o batch) {
	b.n += o.n
	b.steps += o.steps
	b.lines += o.lines
	b.sum += o.sum
	b.sq += o.sq
	b.sync += o.sync
	b.syncs += o.syncs
	b.told += o.told
	b.counted += o.counted
	b.span += o.span
	b.units += o.units
}

func (b batch) mean() float64 { return b.sum / b.steps }

// series holds step times as batches; at mostBatches pairs of neighbours are merged.
type series struct {
	per     int // steps in a batch
	batches []batch
	steps   int
	elapsed float64 // Σ seconds after the first step, which may load a GPU's libraries and compile

	first, last time.Time // arrivals of the first and the latest line; zero if not known
	pause       float64   // seconds, longest between two arrivals
	rates       bool      // some times are computed from samples/s
}

// add takes a step, which counts as many times as the counter has moved: a bar redrawn every
// 0.1 s draws ten fast steps once, and each slow one too.
func (s *series) add(at time.Time, one step) {
	steps := one.count
	if !(steps >= 1) { // without a counter
		steps = 1
	}
	b := batch{n: 1, units: one.unit, steps: steps, lines: one.seconds, sum: steps * one.seconds, sq: steps * one.seconds * one.seconds}
	if one.sync >= 0 {
		b.sync, b.syncs = steps*one.sync, steps
	}
	if s.steps == 0 {
		s.first, s.last = at, at
	}
	if at.After(s.first) && !one.fell {
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
	if s.steps++; s.steps > 1 {
		s.elapsed += one.seconds
	}
}

// merged returns batches of k times the size, the incomplete one, of warm-up, first.
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

func total(bs []batch) (all batch) {
	for _, b := range bs {
		all.add(b)
	}
	return all
}

func summary(bs []batch) (steps int, mean, sd, sync float64) {
	all := total(bs)
	if all.n == 0 {
		return 0, 0, 0, 0
	}
	mean = all.mean()
	if all.n > 1 {
		sd = math.Sqrt(math.Max(0, all.sq-all.steps*mean*mean) / float64(all.n-1))
	}
	if sd < 1e-7*mean {
		sd = 0 // equal up to rounding of the sums
	}
	if all.syncs > 0 {
		sync = all.sync / all.syncs
	}
	return all.n, mean, sd, sync
}

// rounding is the standard error (s) of the mean of steps of a standard deviation that were
// printed with few digits. It averages out where steps differ by more than the unit of the
// last one (Widrow and Kollár, "Quantization Noise", 2008, chapter 5); nearly equal steps
// that are rounded up or down seem to differ by half a unit.
func rounding(steady batch, sd float64) float64 {
	unit := steady.units / float64(steady.n)
	if !(unit > 0) {
		return 0
	}
	own := math.Max(sd*sd-unit*unit/4, 0) // variance of the steps themselves
	return unit / math.Sqrt(12) * math.Exp(-2*math.Pi*math.Pi*own/(unit*unit))
}
