package bayesopt

import (
	"math"
	"slices"

	"knee/data"
)

// startTrials is how many trials the start has at least. With two the averaged
// model decides no worse than with three, and its first choices are cheaper
// than a third point that is only far away.
const startTrials = 2

// initialTrials returns how many trials are spread over the space before the
// model decides.
func (p *Problem) initialTrials() int {
	if p.opts.Initial > 0 {
		return p.opts.Initial
	}
	return max(startTrials, len(p.missingModes(nil)))
}

// starting reports whether the next trial belongs to the start: the planned
// number is not reached, or too few of them gave a time to learn from.
func (p *Problem) starting() bool {
	return p.trials < p.initialTrials() || p.Successes() < min(2, p.initialTrials())
}

// startPick returns the next candidate of the start and why. The cheapest per
// hour comes first: it yields a first answer for little, and anchors the
// scale. The others are spread (maximin distance) over the cheapest third.
// Spreading them over everything costs several times as much on tables whose
// prices differ widely, and learns no more.
func (p *Problem) startPick() (index int, reason string) {
	if p.trials == 0 {
		all := p.Open()
		pool := p.likely(p.cheapest(all, 1))
		return p.byPriority(pool), "cheapest per hour first, to anchor the scale"
	}
	if missing := p.missingModes(p.triedModes()); len(missing) > 0 && p.initialTrials() >= len(p.missingModes(nil)) {
		pool := p.openWhere(func(i int) bool { return slices.Contains(missing, p.cands[i].ModeOrDefault()) })
		if len(pool) > 0 {
			return p.maximin(p.likely(p.cheapest(pool, (len(pool)+2)/3))), "first trial in a mode not tried yet, among its cheapest third"
		}
	}
	third := p.cheapThreshold()
	pool := p.openWhere(func(i int) bool { return p.hourly[i] <= third })
	if len(pool) == 0 {
		pool = p.Open()
	}
	return p.maximin(p.likely(pool)), "far from every trial so far, within the cheapest third"
}

func (p *Problem) openWhere(keep func(int) bool) []int {
	var out []int
	for i, s := range p.standing {
		if s == open && keep(i) {
			out = append(out, i)
		}
	}
	return out
}

// likely keeps the members of the pool that fit nearly as probably as any open
// candidate: the start is no time to find out what does not. A pool without
// such members is replaced by all that are.
func (p *Problem) likely(pool []int) []int {
	all := p.Open()
	top := 0.0
	for _, i := range all {
		top = max(top, p.fits[i])
	}
	risky := func(i int) bool { return p.fits[i] < p.opts.Constants.StartFits*top }
	if kept := slices.DeleteFunc(slices.Clone(pool), risky); len(kept) > 0 {
		return kept
	}
	return slices.DeleteFunc(all, risky)
}

// cheapThreshold is the hourly price of the last candidate of the cheapest
// third of the whole table.
func (p *Problem) cheapThreshold() float64 {
	sorted := slices.Sorted(slices.Values(p.hourly))
	return sorted[(len(sorted)+2)/3-1]
}

// cheapest returns the members of the pool that cost no more than its n-th
// cheapest.
func (p *Problem) cheapest(pool []int, n int) []int {
	prices := make([]float64, len(pool))
	for k, i := range pool {
		prices[k] = p.hourly[i]
	}
	slices.Sort(prices)
	limit := prices[max(n, 1)-1]
	return slices.DeleteFunc(slices.Clone(pool), func(i int) bool { return p.hourly[i] > limit })
}

// maximin returns the member of the pool farthest from its nearest trial, where
// distance counts relative to the square root of the price: between a point
// twice as far and one at a quarter of the price it is indifferent. (Of the
// exponents 0, ½ and 1, ½ gave the least Σ cost on two of the three kinds of
// recorded tables and close to it on the third, rows left out at random.)
func (p *Problem) maximin(pool []int) int {
	var placed [][]float64
	for i, s := range p.standing {
		if s == tried || s == inFlight {
			placed = append(placed, p.points[i])
		}
	}
	pick, farthest := -1, -1.0
	for _, i := range pool {
		nearest := math.Inf(1)
		for _, x := range placed {
			nearest = min(nearest, distance(p.points[i], x))
		}
		nearest /= math.Sqrt(p.hourly[i])
		if nearest > farthest || nearest == farthest && p.priority(i) > p.priority(pick) {
			pick, farthest = i, nearest
		}
	}
	return pick
}

// byPriority returns the member of the pool that the seed prefers.
func (p *Problem) byPriority(pool []int) int {
	pick := pool[0]
	for _, i := range pool {
		if p.priority(i) > p.priority(pick) {
			pick = i
		}
	}
	return pick
}

// missingModes returns the modes of the candidates that are not in seen, in
// the documented order.
func (p *Problem) missingModes(seen []data.Mode) []data.Mode {
	present := map[data.Mode]bool{}
	for _, c := range p.cands {
		present[c.ModeOrDefault()] = true
	}
	return slices.DeleteFunc(data.Modes(), func(m data.Mode) bool { return !present[m] || slices.Contains(seen, m) })
}

func (p *Problem) triedModes() []data.Mode {
	var seen []data.Mode
	for i, s := range p.standing {
		if s == tried || s == inFlight {
			seen = append(seen, p.cands[i].ModeOrDefault())
		}
	}
	return seen
}
