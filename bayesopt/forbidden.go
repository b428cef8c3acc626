package bayesopt

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/internal/list"
)

// values is a range of a column.
type values struct {
	column    int
	low, high float64
}

func (v values) holds(x []float64) bool { return x[v.column] >= v.low && x[v.column] <= v.high }

// region is where all of its ranges hold, at most two: a precision that the GPU lacks, more
// workers than one node has, or a kernel that lacks a precision.
type region struct {
	ranges []values
	prior  float64 // ln of the probability that no trial works there
}

func (r region) holds(x []float64) bool {
	return !slices.ContainsFunc(r.ranges, func(v values) bool { return !v.holds(x) })
}

// within reports whether r is part of o.
func (r region) within(o region) bool {
	return !slices.ContainsFunc(o.ranges, func(w values) bool {
		return !slices.ContainsFunc(r.ranges, func(v values) bool { return v.column == w.column && v.low >= w.low && v.high <= w.high })
	})
}

// forbidden is the hypothesis that trials work nowhere in some regions.
type forbidden struct {
	regions []region
	logged  float64 // ln of its probability, up to a constant
	share   float64 // its probability
	rate    float64 // of crashes elsewhere
	next    int     // the first suspect that may be added, so that every set is made once
}

func (f forbidden) covers(x []float64) bool {
	return slices.ContainsFunc(f.regions, func(r region) bool { return r.holds(x) })
}

// failure is a trial that crashed, or ran out of memory, expected before with e^usual.
type failure struct {
	x       []float64
	crashed bool
	usual   float64
}

const (
	// mostRegions is the most regions of a hypothesis; likeliestHypotheses of each number
	// are tried with one more of the likeliestRegions.
	mostRegions         = 4
	likeliestHypotheses = 24
	likeliestRegions    = 96
)

// forbid returns the hypotheses on regions where all trials so far failed.
//
// This is a spike and slab (George and McCulloch 1993): beforehand a region forbids with a
// small probability, so that the expected share of a space of many values that works is
// about [Constants.UsualFits]. Elsewhere trials crash at random, with a rate of the same
// expectation, known as well as from one trial.
func (p *Problem) forbid(worked [][]float64, failed []failure) (all []forbidden) {
	unusual := 1 - p.Options.Constants.UsualFits
	of := func(regions ...region) forbidden {
		f, crashes, trials := forbidden{regions: regions, logged: list.Sum(regions, func(r region) float64 { return r.prior })}, unusual, 1+float64(len(worked))
		for _, t := range failed {
			if !f.covers(t.x) && t.crashed {
				crashes++
			} else if !f.covers(t.x) {
				f.logged += t.usual
			}
		}
		up, _ := math.Lgamma(crashes)
		down, _ := math.Lgamma(crashes - unusual + trials)
		f.logged, f.rate = f.logged+up-down, crashes/(crashes+trials)
		return f
	}
	byChance := func(a, b forbidden) int { return cmp.Compare(b.logged, a.logged) }
	suspects := list.Map(p.suspects(worked, failed, unusual), func(r region) forbidden { return of(r) })
	slices.SortStableFunc(suspects, byChance)
	suspects = suspects[:min(len(suspects), likeliestRegions)]
	all = []forbidden{of()}
	for last := all; len(last) > 0 && len(last[0].regions) < mostRegions; {
		var next []forbidden
		for _, f := range last {
			for k := f.next; k < len(suspects); k++ {
				r := suspects[k].regions[0]
				if !slices.ContainsFunc(f.regions, func(o region) bool { return r.within(o) || o.within(r) }) {
					more := of(append(slices.Clone(f.regions), r)...)
					more.next = k + 1
					next = append(next, more)
				}
			}
		}
		slices.SortStableFunc(next, byChance)
		all, last = append(all, next...), next[:min(len(next), likeliestHypotheses)]
	}
	logged := func(f forbidden) float64 { return f.logged }
	top := slices.Max(list.Map(all, logged))
	all = slices.DeleteFunc(all, func(f forbidden) bool { return f.regions != nil && f.logged < top+math.Log(averageCutoff) }) // nothing is ever certainly forbidden
	total := floats.LogSumExp(list.Map(all, logged))
	for k := range all {
		all[k].share = math.Exp(all[k].logged - total)
	}
	return all
}

// suspects are the regions of one or two ranges where trials failed and none worked. A
// range is a single value, or the highest or lowest of a column; of two, each begins at a
// value of a failed trial.
func (p *Problem) suspects(worked [][]float64, failed []failure, unusual float64) (all []region) {
	add := func(prior float64, ranges ...values) {
		r := region{ranges, prior}
		if !slices.ContainsFunc(worked, r.holds) && slices.ContainsFunc(failed, func(t failure) bool { return r.holds(t.x) }) {
			all = append(all, r)
		}
	}
	type weighed struct {
		values
		among float64
	}
	var narrow []weighed
	columns := float64(len(p.enc.columns))
	for j := range p.enc.columns {
		levels := slices.Compact(slices.Sorted(slices.Values(list.Map(p.Points, func(x []float64) float64 { return x[j] }))))
		last, among := len(levels)-1, float64(len(levels))
		for k, v := range levels {
			tried := slices.ContainsFunc(failed, func(t failure) bool { return t.x[j] == v })
			for _, r := range []values{{j, v, v}, {j, v, levels[last]}, {j, levels[0], v}}[:1+2*min(k, last-k, 1)] {
				add(math.Log(unusual/(columns*among)), r)
				if tried {
					narrow = append(narrow, weighed{r, among})
				}
			}
		}
	}
	for k, a := range narrow {
		for _, b := range narrow[k+1:] {
			if a.column != b.column {
				add(math.Log(unusual/(columns*(columns-1)/2*a.among*b.among)), a.values, b.values)
			}
		}
	}
	return all
}

// allowed returns the probability that a point is not forbidden.
func (p *Problem) allowed(x []float64) float64 {
	return p.outside(x, func(f forbidden) float64 { return f.share })
}

// works returns the probability that a point is not forbidden and a trial does not crash there.
func (p *Problem) works(x []float64) float64 {
	return p.outside(x, func(f forbidden) float64 { return f.share * (1 - f.rate) })
}

// outside adds up the hypotheses that do not forbid a point.
func (p *Problem) outside(x []float64, of func(forbidden) float64) (sum float64) {
	for _, f := range p.forbids {
		if !f.covers(x) {
			sum += of(f)
		}
	}
	return max(sum, math.SmallestNonzeroFloat64)
}
