package allocate

import "math"

// dual is a point of the Lagrangian dual of a knapsack: relaxing
// Σ use ≤ 1 with prices λ ≥ 0 (value per share of each resource) lets
// every job choose by itself, and
//
//	L(λ) = Σ_d λ_d + Σ_i max_c (v_ic − Σ_d λ_d use_icd)
//
// is an upper bound of every feasible assignment, whatever λ is (Fisher,
// The Lagrangian relaxation method for solving integer programming
// problems, Management Science 1981).
type dual struct {
	price []float64
	bound float64
}

// dualWork bounds the work of the dual, in evaluated items, so that a
// cluster of thousands of jobs still takes a moment. It is a count, not a
// time, to keep the result the same on every machine.
const dualWork = 12_000_000

// bound minimises L by subgradient steps of Polyak's length towards the best
// value known, then sharpens one price at a time. With mustRun the choice of
// nothing is not offered to jobs that have an item.
func (k *knapsack) bound(known float64, mustRun bool) dual {
	n := k.n
	work := 1
	for i := range k.jobs {
		work += (len(k.jobs[i].corners) + 1) * n
	}
	rounds := min(max(dualWork/work, 20), 400)
	price, grad := make([]float64, n), make([]float64, n)
	best := dual{price: make([]float64, n), bound: math.Inf(1)}
	theta, stale := 1.0, 0
	for range rounds {
		l := k.lagrangian(price, grad, mustRun)
		if l < best.bound {
			if best.bound-l > 1e-6*math.Abs(l) {
				stale = 0
			}
			best.bound = l
			copy(best.price, price)
		}
		var norm float64
		for d, g := range grad {
			if price[d] > 0 || g < 0 {
				norm += g * g
			}
		}
		if norm < 1e-18 || l-known <= 1e-12*math.Abs(known) {
			break
		}
		if stale++; stale > 8 {
			theta, stale = theta/2, 0
			copy(price, best.price)
			l = k.lagrangian(price, grad, mustRun)
		}
		length := theta * (l - known) / norm
		for d := range price {
			price[d] = math.Max(0, price[d]-length*grad[d])
		}
	}
	if work <= 60_000 {
		k.sharpen(&best, mustRun)
	}
	return best
}

// lagrangian returns L at the prices and leaves a subgradient in grad.
func (k *knapsack) lagrangian(price, grad []float64, mustRun bool) float64 {
	var l float64
	for d, p := range price {
		grad[d] = 0
		if k.scale[d] {
			grad[d] = 1
			l += p
		}
	}
	for i := range k.jobs {
		v, it := k.reduced(i, price, mustRun)
		l += v
		if it == nil {
			continue
		}
		for n, d := range k.dims[it.branch] {
			grad[d] -= it.use[n]
		}
	}
	return l
}

// reduced returns the largest value less price of job i and its item, nil
// for nothing.
func (k *knapsack) reduced(i int, price []float64, mustRun bool) (float64, *item) {
	j := &k.jobs[i]
	best := j.idle
	if mustRun && len(j.items) > 0 {
		best = math.Inf(-1)
	}
	var at *item
	for _, c := range j.corners {
		it := &j.items[c]
		if v := it.value - k.worth(it, price); v > best {
			best, at = v, it
		}
	}
	return best, at
}

// worth is what an item costs at the prices.
func (k *knapsack) worth(it *item, price []float64) float64 {
	var w float64
	for n, d := range k.dims[it.branch] {
		w += price[d] * it.use[n]
	}
	return w
}

// sharpen lowers the bound one price at a time. L is convex in each, so a
// golden-section search suffices; any point on the way is a valid bound.
func (k *knapsack) sharpen(d *dual, mustRun bool) {
	grad := make([]float64, k.n)
	for range 3 {
		before := d.bound
		for i := range d.price {
			if k.scale[i] {
				k.sharpenOne(d, i, grad, mustRun)
			}
		}
		if before-d.bound <= 1e-9*math.Abs(before) {
			return
		}
	}
}

func (k *knapsack) sharpenOne(d *dual, i int, grad []float64, mustRun bool) {
	price := append([]float64(nil), d.price...)
	at := func(x float64) float64 {
		price[i] = x
		l := k.lagrangian(price, grad, mustRun)
		if l < d.bound {
			d.bound = l
			d.price[i] = x
		}
		return l
	}
	const ratio = 0.6180339887498949 // golden section
	lo, hi := 0.0, 2*d.price[i]
	if hi == 0 {
		hi = math.Abs(d.bound) + 1e-9
	}
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	la, lb := at(a), at(b)
	for range 40 {
		if la <= lb {
			hi, b, lb = b, a, la
			a = hi - ratio*(hi-lo)
			la = at(a)
		} else {
			lo, a, la = a, b, lb
			b = lo + ratio*(hi-lo)
			lb = at(b)
		}
	}
}
