package bayesopt

import "math"

// untested reports whether what is believed of the candidates that probably fit
// has been put to the test too seldom, and which of them is farthest from
// every trial. Predictions near a trial say nothing of those far away: what counts
// are trials that, when they were suggested, were as far from those before as
// the farthest candidate is now.
func (p *Problem) untested() (farthest int, untested bool) {
	var placed [][]float64
	var ahead []float64 // distance of every time observed from those before
	for _, o := range p.observations {
		ahead = append(ahead, nearest(o.x, placed))
		placed = append(placed, o.x)
	}
	for i, s := range p.standing {
		if s == tried && p.looks[i] == 0 || s == inFlight {
			placed = append(placed, p.points[i])
		}
	}
	farthest, reach := -1, 0.0
	for _, i := range p.openWhere(func(i int) bool { return p.fits[i] >= probable }) {
		if d := nearest(p.points[i], placed); d > reach || d == reach && farthest >= 0 && p.priority(i) > p.priority(farthest) {
			farthest, reach = i, d
		}
	}
	tests := 0
	for _, d := range ahead[min(recordFrom, len(ahead)):] {
		if d >= reach {
			tests++
		}
	}
	return farthest, farthest >= 0 && tests < minRecord
}

// nearest returns the distance to the nearest of some points, +Inf if there is none.
func nearest(x []float64, of [][]float64) float64 {
	least := math.Inf(1)
	for _, y := range of {
		least = min(least, distance(x, y))
	}
	return least
}
