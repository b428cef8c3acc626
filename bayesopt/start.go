package bayesopt

import (
	"math"
	"slices"

	"knee/data"
)

// startTrials is the least number of trials of the start. With two, decisions
// are as good as with three, and the first trials cost less.
const startTrials = 2

// initialTrials returns the number of trials before the model decides, at least
// one per mode.
func (p *Problem) initialTrials() int {
	modes := map[data.Mode]bool{}
	for _, c := range p.cands {
		modes[c.ModeOrDefault()] = true
	}
	return max(startTrials, len(modes))
}

// starting reports whether the next trial belongs to the start: fewer trials
// than planned, or fewer than two with a time or a bound.
func (p *Problem) starting() bool {
	return p.trials < p.initialTrials() || len(p.observations) < 2
}

// startPick returns the next candidate of the start and the reason. The first
// is the cheapest per hour: it gives a first answer and the scale at low cost.
// The others maximise the distance to all trials within the cheapest third;
// over the whole table they cost several times as much and inform no better.
// All are candidates that probably fit.
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

// maximin returns the member of pool with the largest distance to its nearest
// trial divided by the square root of the price. (Of the exponents 0, ½ and 1,
// ½ gave the least Σ cost on two of three kinds of recorded tables and nearly
// so on the third, with rows left out at random.)
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

// nearest returns the distance to the nearest of some points, +Inf without any.
func nearest(x []float64, of [][]float64) float64 {
	least := math.Inf(1)
	for _, y := range of {
		least = min(least, distance(x, y))
	}
	return least
}
