package bayesopt

import (
	"math"
	"slices"
)

// startTrials is the number of trials of the start, which ends with as many
// times or bounds of them. With two, decisions are as good as with three, and
// the first trials cost less.
const startTrials = 2

// startPick returns the next candidate of the start and the reason. The first
// is the cheapest per hour: it gives a first answer and the scale at low cost.
// The others are in the cheapest third; over the whole table they cost several
// times as much and inform no better. All are candidates that probably fit. Of
// these the pick has the largest distance to its nearest trial divided by the
// square root of the price. (Of the exponents 0, ½ and 1, ½ gave the least
// Σ cost on two of three kinds of recorded tables and nearly so on the third,
// with rows left out at random.)
func (p *Problem) startPick() (index int, reason string) {
	pool, top, least := p.Open(), 0.0, math.Inf(1)
	for _, i := range pool {
		top = max(top, p.fits[i])
	}
	pool = slices.DeleteFunc(pool, func(i int) bool { return p.fits[i] < min(probable, top) })
	for _, i := range pool {
		least = min(least, p.hourly[i])
	}
	share, reason := 1, "cheapest per hour first, to anchor the scale"
	if p.Trials > 0 {
		share, reason = (len(p.cands)+2)/3, "far from every trial so far, within the cheapest third"
	}
	limit := max(slices.Sorted(slices.Values(p.hourly))[share-1], least)
	pool = slices.DeleteFunc(pool, func(i int) bool { return p.hourly[i] > limit })
	var placed [][]float64
	for i, s := range p.standing {
		if s == tried || s == inFlight {
			placed = append(placed, p.Points[i])
		}
	}
	away := make([]float64, len(pool))
	for k, i := range pool {
		away[k] = math.Inf(1)
		for _, x := range placed {
			away[k] = min(away[k], distance(p.Points[i], x)/math.Sqrt(p.hourly[i]))
		}
	}
	return pool[p.Best(pool, away)], reason
}
