package gavel

import "math"

// Problem is how to divide time on GPU types among gangs.
type Problem struct {
	Speed [][]float64 // of job i with all of its time on type k, in a unit of its own; 0 where it cannot run
	Size  []float64   // GPUs that job i holds while it runs, > 0
	GPUs  []float64   // of type k, ≥ 0
	Pairs []Pair      // that may share GPUs, if any
}

// Allocation is a division of time.
type Allocation struct {
	Share  [][]float64 // of the time of job i on type k; Σ_k ≤ 1, Σ_i Size·Share ≤ GPUs
	Packed [][]float64 // of the time of both of pair x on type k, within the same sums
	Level  float64     // least Speed·Share ÷ need over jobs that can run at all
	Bound  float64     // no allocation has a larger Level
}

// speed is Speed, 0 where the gang is larger than the type.
func (p *Problem) speed(i, k int) float64 {
	if p.Size[i] > p.GPUs[k] {
		return 0
	}
	return p.Speed[i][k]
}

// MaxMin maximises the least speed relative to need[i] > 0; then, with the jobs fixed that
// cannot be faster unless another is slower, the least speed of the others (water filling,
// section 4.3), until all are fixed. With the work left as the need, in units of Speed ×
// time, it minimises the makespan, which is 1/Level (section 4.2).
func (p *Problem) MaxMin(need []float64) Allocation {
	if len(p.Pairs) > 0 {
		return p.packed(need, true)
	}
	f := newFill(p, need)
	first := f.raise()
	out := first.Allocation
	for f.freeze(first) {
		next := f.raise()
		if next.Bound < next.Level*(1-1e-6) { // rounding left the frozen jobs less than they have
			return p.packed(need, true)
		}
		first, out.Share = next, next.Share
	}
	return out
}

// FinishTime minimises the largest finish-time fairness, (age + left/speed) ÷ (isolated +
// left/own), where own is the speed of an equal share of the cluster and isolated the time
// the job would have taken so far with it (section 4.2; Themis, Mahajan et al., NSDI 2020).
// Level is the largest fairness, Bound a lower bound of it.
func (p *Problem) FinishTime(age, isolated, left []float64) Allocation {
	n := len(p.Size)
	ideal := make([]float64, n)
	for i := range ideal {
		ideal[i] = math.Inf(1)
		if own := p.Equal(i); own > 0 {
			ideal[i] = isolated[i] + left[i]/own
		}
	}
	// To reach a fairness, job i needs the speed left ÷ (fairness · ideal − age).
	needs := func(rho float64) []float64 {
		need := make([]float64, n)
		for i := range need {
			need[i] = left[i] / math.Max(rho*ideal[i]-age[i], math.SmallestNonzeroFloat32)
		}
		return need
	}
	feasible := func(rho float64) bool {
		if len(p.Pairs) > 0 {
			return p.packed(needs(rho), false).Level >= 1-1e-6
		}
		return newFill(p, needs(rho)).raise().Level >= 1-1e-9
	}
	const most = 1e12
	lo, hi := 0.0, 1.0
	for !feasible(hi) && hi < most {
		lo, hi = hi, hi*2
	}
	const precise = 1e-6
	for hi-lo > precise*hi {
		if mid := (lo + hi) / 2; feasible(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	a := p.MaxMin(needs(hi))
	a.Level, a.Bound = hi, lo
	return a
}

// Equal is the speed of job i with an equal share of every type: of n jobs,
// the GPUs ÷ n of each, all of its time at most.
func (p *Problem) Equal(i int) float64 {
	n := float64(len(p.Size))
	var time, v float64
	for k, g := range p.GPUs {
		if s := p.speed(i, k); s > 0 {
			x := math.Min(1, g/n/p.Size[i])
			time += x
			v += x * s
		}
	}
	return v / math.Max(time, 1)
}
