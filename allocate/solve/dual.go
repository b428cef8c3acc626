package solve

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// dual is a point of the Lagrangian dual of a knapsack: relaxing Σ use ≤ 1 with prices λ ≥ 0
// (value per share of each resource) lets every job choose by itself, and
//
//	L(λ) = Σ_d λ_d + Σ_i max_c (v_ic − Σ_d λ_d use_icd)
//
// is an upper bound of every feasible assignment, whatever λ is (Fisher, The Lagrangian
// relaxation method for solving integer programming problems, Management Science 1981).
type dual struct {
	price []float64
	bound float64
}

// approach finds prices near the minimum of L; with mustRun, of assignments that run
// every job that has items. Prices differ by orders of magnitude, where plain subgradient
// steps converge badly: every price is multiplied or divided by a factor, by the sign of
// its subgradient. The factor grows while the sign stays and shrinks when it changes
// (Riedmiller and Braun, ICNN 1993); its logarithm begins at first and ends below least.
// The first prices divide the spread of the values among the GPU types.
func (k *knapsack) approach(mustRun bool) dual {
	const rounds, first, least = 60, 0.5, 1e-7
	const rounding = 1e-12 // of a sum of shares: below it a subgradient has no sign
	best := dual{price: make([]float64, len(k.limit)), bound: math.Inf(1)}
	price, grad := make([]float64, len(k.limit)), make([]float64, len(k.limit))
	share := k.spread(mustRun) / float64(2*len(k.dims))
	for _, dims := range k.dims {
		price[dims[0]] = share
	}
	step, sign := slices.Repeat([]float64{first}, len(k.limit)), make([]float64, len(k.limit))
	for range rounds {
		k.try(&best, price, grad, mustRun)
		moved := false
		for d, g := range grad {
			switch {
			case k.limit[d] <= 0 || math.Abs(g) < rounding || g > 0 && price[d] == 0:
				continue
			case g*sign[d] > 0:
				step[d] = math.Min(1.3*step[d], 2)
			case g*sign[d] < 0:
				step[d] /= 3
			}
			if sign[d] = g; step[d] < least {
				continue
			}
			moved = true
			price[d] = cmp.Or(price[d], math.Abs(best.bound)/100) * math.Exp(-math.Copysign(step[d], g))
		}
		if !moved {
			break
		}
	}
	return best
}

// spread is the sum over jobs of the best value less the worst.
func (k *knapsack) spread(mustRun bool) (all float64) {
	for i := range k.jobs {
		j := &k.jobs[i]
		top, least := j.idle, j.idle
		if mustRun && len(j.hull) > 0 {
			top, least = math.Inf(-1), math.Inf(1)
		}
		for _, c := range j.hull {
			top, least = math.Max(top, j.items[c].value), math.Min(least, j.items[c].value)
		}
		all += top - least
	}
	return all
}

// try evaluates L, leaves a subgradient in grad, and keeps the prices if L is the least
// so far.
func (k *knapsack) try(best *dual, price, grad []float64, mustRun bool) {
	var l float64
	for d, p := range price {
		grad[d] = 0
		if k.limit[d] > 0 {
			grad[d] = 1
			l += p
		}
	}
	for i := range k.jobs {
		v, c := k.chosen(i, price, mustRun)
		l += v
		if c == allocate.None {
			continue
		}
		it := &k.jobs[i].items[c]
		for n, d := range k.dims[it.branch] {
			grad[d] -= it.use[n]
		}
	}
	if l < best.bound {
		best.bound = l
		copy(best.price, price)
	}
}

// worth is the cost of an item at the prices.
func (k *knapsack) worth(it *item, price []float64) (w float64) {
	for n, d := range k.dims[it.branch] {
		w += price[d] * it.use[n]
	}
	return w
}

// chosen is the largest value less price of job i and its choice, the first of equal ones.
func (k *knapsack) chosen(i int, price []float64, mustRun bool) (float64, int) {
	j := &k.jobs[i]
	best, at := j.idle, allocate.None
	if mustRun && len(j.items) > 0 {
		best = math.Inf(-1)
	}
	for _, c := range j.hull {
		if v := j.items[c].value - k.worth(&j.items[c], price); v > best {
			best, at = v, c
		}
	}
	return best, at
}

// rounded lets every job choose its best item at the prices of the dual. If the choices fit
// they are nearly the best: only jobs with ties, about as many as there are scarce resources,
// can be wrong. If not, prices of exceeded resources are raised until they do, and greedy
// steps use what is left. It returns nil if no prices tried give choices that fit.
func (k *knapsack) rounded(d dual, mustRun bool) *selection {
	const tries = 24
	price := append([]float64(nil), d.price...)
	raise, top := 1e-4, max(slices.Max(price), 1e-9)
	for range tries {
		s := k.empty()
		for i := range k.jobs {
			if _, c := k.chosen(i, price, mustRun); c != allocate.None {
				s.set(i, c)
			}
		}
		short := false
		for d, free := range s.free {
			if free < -allocate.Slack {
				short = true
				price[d] = max(price[d]*(1+raise), raise*top) // also of a resource without a price
			}
		}
		if !short {
			s.grow()
			return s
		}
		raise *= 1.5
	}
	return nil
}
