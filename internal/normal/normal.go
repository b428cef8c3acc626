// Package normal has functions of the standard normal distribution that do not underflow.
package normal

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// LogImprovement returns ln(φ(u) + u·Φ(u)).
func LogImprovement(u float64) float64 {
	switch {
	case u > -1:
		return math.Log(distuv.UnitNormal.Prob(u) + u*distuv.UnitNormal.CDF(u))
	case u > -35:
		return distuv.UnitNormal.LogProb(u) + math.Log1p(u*distuv.UnitNormal.CDF(u)/distuv.UnitNormal.Prob(u)) // no underflow here
	}
	// Below −35, 1 − ratio would cancel; the asymptotic series from Mills'
	// ratio is u⁻²·(1 − 3/u² + 15/u⁴ − 105/u⁶ + 945/u⁸ − …).
	t := 1 / (u * u)
	return distuv.UnitNormal.LogProb(u) - 2*math.Log(-u) + math.Log1p(t*(-3+t*(15+t*(-105+t*945))))
}

// LogCDF returns ln Φ(u) without underflow.
func LogCDF(u float64) float64 {
	if u > -35 {
		return math.Log(distuv.UnitNormal.CDF(u))
	}
	t := 1 / (u * u)
	return distuv.UnitNormal.LogProb(u) - math.Log(-u) + math.Log1p(-t*(1-3*t*(1-5*t)))
}

// Probit returns slope and negative curvature, in the score, of ln Φ(score) if
// fits, else of ln Φ(−score).
func Probit(score float64, fits bool) (slope, curve float64) {
	sign := 1.0
	if !fits {
		sign = -1
	}
	ratio := math.Exp(distuv.UnitNormal.LogProb(score) - LogCDF(sign*score))
	return sign * ratio, ratio * (ratio + sign*score)
}
