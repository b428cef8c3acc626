package fit

import "math"

// horizon is what is known about when a target is met without looking at the
// curve: people plan a run to end some time after it gets where they want it,
// so with a planned end the first hit is log-normal around .45 of what is
// left, and without one it is anywhere, at all scales alike (Jeffreys' prior
// 1/x; Gott, Nature 1993, argues the same for durations in general).
type horizon struct {
	last    float64 // steps seen
	planned float64 // steps of the whole run, 0 if unknown
}

const (
	horizonPart = .45 // of what is left of the planned run
	horizonSD   = .5  // of the logarithm
)

// density returns the density of the first hit at x steps, unnormalised.
func (h horizon) density(x float64) float64 {
	if h.planned <= h.last {
		return 1 / x
	}
	return logNormal(x, h.last+horizonPart*(h.planned-h.last), horizonSD)
}

// end returns how far ahead it is worth looking.
func (h horizon) end() float64 {
	if h.planned > h.last {
		return 4 * h.planned
	}
	return futureReach * h.last
}

// logNormal is the density, unnormalised, of a log-normal quantity.
func logNormal(x, median, sd float64) float64 {
	z := math.Log(x/median) / sd
	return math.Exp(-.5*z*z) / x
}
