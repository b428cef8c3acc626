package trainer

import "math"

// estimate returns unbiased estimates of |G|², with G the true gradient, and of the trace of the
// covariance of a gradient over initial samples, from count independent gradients over total
// samples together: meanSqr is their mean squared norm, sqrMean the squared norm of their mean.
//
//	sqr = (c|ḡ|² − mean|g|²)/(c−1),  var = (mean|g|² − |ḡ|²)·scale/(c−1),
//
// c = count ≥ 2, scale = total/initial: McCandlish et al., "An Empirical Model of Large-Batch
// Training" (2018), appendix A.1, in the form of Pollux (OSDI'21, section 4.1).
func estimate(count int, meanSqr, sqrMean, total, initial float64) (sqr, variance float64) {
	c := float64(count)
	return (c*sqrMean - meanSqr) / (c - 1), (meanSqr - sqrMean) * (total / initial) / (c - 1)
}

// smoothing is the weight of the past: single estimates of |G|² are mostly noise while the
// batch is far below the noise scale; averaging about a hundred steps reduces it.
const smoothing = 0.99

// gradStats smooths the statistics of a job's gradients, or in ps-async of one worker's, by
// exponential moving averages, corrected for starting at zero (Kingma and Ba, "Adam", 2015, §3). The
// independent gradients are those of samples, whose norms cost little ([model.sampleNorms]):
// estimates exist for a single worker too, and vary less than from one gradient per worker.
type gradStats struct {
	count   int     // samples, that is gradients, per update
	initial float64 // batch the variance is reported at
	sqr, v  float64 // sums, weighted
	weight  float64 // Σ weights
}

// observe adds an update: sumSqr is the sum of the squared norms of its samples' gradients,
// sqrMean the squared norm of their mean. The variance needs two samples.
func (s *gradStats) observe(sumSqr, sqrMean float64) {
	if s.count < 2 {
		return
	}
	c := float64(s.count)
	sqr, v := estimate(s.count, sumSqr/c, sqrMean, c, s.initial)
	s.sqr = smoothing*s.sqr + (1-smoothing)*sqr
	s.v = smoothing*s.v + (1-smoothing)*v
	s.weight = smoothing*s.weight + (1 - smoothing)
}

// values are smoothed; NaN unless both are positive, as the noise scale has to be.
func (s *gradStats) values() (sqr, v float64) {
	sqr, v = s.sqr/s.weight, s.v/s.weight
	if !(sqr > 0 && v > 0) || math.IsInf(sqr, 0) || math.IsInf(v, 0) {
		return math.NaN(), math.NaN()
	}
	return sqr, v
}
