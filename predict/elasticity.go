package predict

import "math"

// elasticity is the relative gain in a rate per relative gain in workers.
func elasticity(a, b Answer, rate func(Answer) float64) float64 {
	ga, gb := rate(a), rate(b)
	ka, kb := float64(a.Config.Workers), float64(b.Config.Workers)
	if !(ga > 0) || !(gb > 0) || kb <= ka || ka <= 0 {
		return 0
	}
	return math.Log(gb/ga) / math.Log(kb/ka)
}

// rate is what a scalability curve shows: goodput, or steps per second where
// no batch is known.
func rate(a Answer) float64 {
	if a.Goodput.Mean > 0 {
		return a.Goodput.Mean
	}
	if a.StepTime.Mean > 0 {
		return 1 / a.StepTime.Mean
	}
	return 0
}
