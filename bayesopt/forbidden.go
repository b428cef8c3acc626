package bayesopt

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/internal/list"
)

// values is a range of a column, such as a precision that the GPU lacks or more workers
// than one node has.
type values struct {
	column    int
	low, high float64
	prior     float64 // ln of the probability that no trial works there
}

func (v values) holds(x []float64) bool { return x[v.column] >= v.low && x[v.column] <= v.high }

func (v values) within(o values) bool {
	return v.column == o.column && v.low >= o.low && v.high <= o.high
}

// forbidden is the hypothesis that trials work nowhere in some ranges, at most two.
type forbidden struct {
	ranges []values
	share  float64 // its probability
}

func (f forbidden) covers(x []float64) bool {
	return slices.ContainsFunc(f.ranges, func(v values) bool { return v.holds(x) })
}

// failure is a trial that crashed, or ran out of memory, expected before with e^usual.
type failure struct {
	x       []float64
	crashed bool
	usual   float64
}

// forbid returns the hypotheses on ranges where all trials so far failed: single values, the
// highest and the lowest of each column, and pairs of these.
//
// This is a spike and slab (George and McCulloch 1993): beforehand a range forbids with a
// small probability, so that the expected share of a space of many values that works is
// about [Constants.UsualFits]. Elsewhere trials crash at random, with a rate of the same
// expectation, known as well as from one trial.
func (p *Problem) forbid(worked [][]float64, failed []failure) (all []forbidden) {
	unusual := 1 - p.Options.Constants.UsualFits
	add := func(ranges ...values) {
		f, crashes := forbidden{ranges, list.Sum(ranges, func(v values) float64 { return v.prior })}, 0. // shares in logarithms as yet
		for _, t := range failed {
			if !f.covers(t.x) && t.crashed {
				crashes++
			} else if !f.covers(t.x) {
				f.share += t.usual
			}
		}
		up, _ := math.Lgamma(unusual + crashes)
		down, _ := math.Lgamma(1 + crashes + float64(len(worked)))
		f.share += up - down
		all = append(all, f)
	}
	add()
	var suspects []values
	for j := range p.enc.columns {
		levels := slices.Compact(slices.Sorted(slices.Values(list.Map(p.Points, func(x []float64) float64 { return x[j] }))))
		last, prior := len(levels)-1, math.Log(unusual/float64(len(p.enc.columns)*len(levels)))
		for k, v := range levels {
			for _, s := range []values{{j, v, v, prior}, {j, v, levels[last], prior}, {j, levels[0], v, prior}}[:1+2*min(k, last-k, 1)] {
				inside := func(t failure) bool { return s.holds(t.x) }
				if slices.ContainsFunc(worked, s.holds) || !slices.ContainsFunc(failed, inside) {
					continue
				}
				add(s)
				for _, other := range suspects {
					if !s.within(other) && !other.within(s) {
						add(s, other)
					}
				}
				suspects = append(suspects, s)
			}
		}
	}
	logged := func(f forbidden) float64 { return f.share }
	top := slices.Max(list.Map(all, logged))
	all = slices.DeleteFunc(all, func(f forbidden) bool { return f.ranges != nil && f.share < top+math.Log(averageCutoff) }) // nothing is ever certainly forbidden
	total := floats.LogSumExp(list.Map(all, logged))
	for k := range all {
		all[k].share = math.Exp(all[k].share - total)
	}
	return all
}

// works returns the probability that a point is not forbidden.
func (p *Problem) works(x []float64) float64 {
	share := 1.
	for _, f := range p.forbids {
		if f.covers(x) {
			share -= f.share
		}
	}
	return max(share, math.SmallestNonzeroFloat64)
}
