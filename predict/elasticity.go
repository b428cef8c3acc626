package predict

import "math"

// elasticity is ln(rate_b/rate_a) / ln(workers_b/workers_a); 0 unless both
// rates are positive and b has more workers.
func elasticity(a, b Answer, rate func(Answer) float64) float64 {
	ga, gb := rate(a), rate(b)
	ka, kb := float64(a.Config.Workers), float64(b.Config.Workers)
	if !(ga > 0) || !(gb > 0) || kb <= ka || ka <= 0 {
		return 0
	}
	return math.Log(gb/ga) / math.Log(kb/ka)
}

// rate returns goodput, samples/s, or steps per second if no batch is known.
func rate(a Answer) float64 {
	if a.Goodput.Mean > 0 {
		return a.Goodput.Mean
	}
	if a.StepTime.Mean > 0 {
		return 1 / a.StepTime.Mean
	}
	return 0
}
