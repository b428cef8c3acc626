package bayesopt

import "math"

// LogPI returns ln P(y < best) for y ~ N(mean, sd²): the logarithm of the
// probability of improvement (Kushner 1964). It ignores by how much, and so
// searches more locally than [LogEI].
func LogPI(mean, sd, best float64) float64 {
	if sd <= 0 {
		if mean < best {
			return 0
		}
		return math.Inf(-1)
	}
	return logNormalCDF((best - mean) / sd)
}
