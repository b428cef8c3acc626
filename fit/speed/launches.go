package speed

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/fit/prior"
)

// withLaunches adds launches of operations to the prior of the logit of the share
// of the compute time that is independent of the batch. The sum of two log-normal
// variables is near one with the moments of its linearisation: each counts by
// its share.
func (g *group) withLaunches(p prior.Coordinate) prior.Coordinate {
	launches := g.prior.Launches.Mean - math.Log(g.scale.Time)
	sum := math.Exp(p.Mean) + math.Exp(launches)
	share := math.Exp(launches) / sum
	p.Mean, p.SD = math.Log(sum), math.Hypot((1-share)*p.SD, share*g.prior.Launches.SD)
	return p
}

// launchesAbove returns the prior probability that launches take longer, in seconds.
func (g *group) launchesAbove(seconds float64) float64 {
	return distuv.Normal{Mu: g.prior.Launches.Mean, Sigma: g.prior.Launches.SD}.Survival(math.Log(seconds))
}
