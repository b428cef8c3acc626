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
// model decides: one per mode at least.
func (p *Problem) initialTrials() int {
	modes := map[data.Mode]bool{}
	for _, c := range p.cands {
		modes[c.ModeOrDefault()] = true
	}
	return max(startTrials, len(modes))
}

// starting reports whether the next trial belongs to the start: the planned
// number is not reached, or too few of them gave a time, or a bound of one, to
// learn from.
func (p *Problem) starting() bool {
	return p.trials < p.initialTrials() || len(p.observations) < 2
}

// startPick returns the next candidate of the start and why. The cheapest per
// hour comes first: it yields a first answer for little, and anchors the
// scale. The others are spread (maximin distance) over the cheapest third.
// Spreading them over everything costs several times as much on tables whose
// prices differ widely, and learns no more. All are among what probably fits:
// the start is no time to find out what does not.
func (p *Problem) startPick() (index int, reason string) {
	pool := p.openWhere(func(i int) bool { return p.fits[i] >= probable })
	if len(pool) == 0 {
		top := 0.0
		for _, i := range p.Open() {
			top = max(top, p.fits[i])
		}
		pool = p.openWhere(func(i int) bool { return p.fits[i] == top })
	}
	share, reason := 1, "cheapest per hour first, to anchor the scale"
	if p.trials > 0 {
		share, reason = (len(p.cands)+2)/3, "far from every trial so far, within the cheapest third"
	}
	sorted := slices.Sorted(slices.Values(p.hourly))
	limit := max(sorted[share-1], p.cheapest(pool))
	return p.maximin(slices.DeleteFunc(pool, func(i int) bool { return p.hourly[i] > limit })), reason
}

// cheapest returns the lowest hourly price in a pool.
func (p *Problem) cheapest(pool []int) float64 {
	least := math.Inf(1)
	for _, i := range pool {
		least = min(least, p.hourly[i])
	}
	return least
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
		away := nearest(p.points[i], placed) / math.Sqrt(p.hourly[i])
		if away > farthest || away == farthest && p.priority(i) > p.priority(pick) {
			pick, farthest = i, away
		}
	}
	return pick
}

// nearest returns the distance to the nearest of some points, +Inf if there is none.
func nearest(x []float64, of [][]float64) float64 {
	least := math.Inf(1)
	for _, y := range of {
		least = min(least, distance(x, y))
	}
	return least
}
