package convergence

import "math"

// horizon is what is known about when a target is met without looking at the
// curve. People plan a run so that it gets where they want it, neither at once
// nor at the very last moment: with a planned end the first hit is spread over
// what is left of the run as the parabola 6u(1−u), u from 0 now to 1 at the end
// (the beta distribution with both parameters 2). A plan that is wrong about
// that, one in ten, leaves 1/(1+u)², which goes on after the end. Without a
// plan the first hit may be anywhere, at nearly all scales alike (Jeffreys'
// prior would be 1/x; Gott, Nature 1993, argues in the same way for durations
// in general).
type horizon struct {
	last    float64 // steps seen
	planned float64 // steps of the whole run, 0 if unknown
}

const (
	// wrongPlan is the chance that the plan says nothing about the target, as
	// neverPrior is that the target is out of reach.
	wrongPlan = .1
	// horizonSlope is the power of x that the density falls by without a plan:
	// somewhat less than Jeffreys' 1, as what is asked for is seldom about to
	// happen.
	horizonSlope = .8
)

// density returns the density of the first hit at x steps, unnormalised.
func (h horizon) density(x float64) float64 {
	if h.planned <= h.last {
		return math.Pow(x, -horizonSlope)
	}
	u := (x - h.last) / (h.planned - h.last)
	d := wrongPlan / ((1 + u) * (1 + u))
	if 0 < u && u < 1 {
		d += (1 - wrongPlan) * 6 * u * (1 - u)
	}
	return d
}

// end returns how far ahead it is worth looking.
func (h horizon) end() float64 {
	if h.planned > h.last {
		return 4 * h.planned
	}
	return futureReach * h.last
}
