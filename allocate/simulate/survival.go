package simulate

import "math"

// survival counts ended jobs by the share of their declared work that they did.
type survival struct {
	count [survivalBins + 1]float64 // the last bin completed
}

const survivalBins = 256

func (s *survival) add(share float64) {
	s.count[int(survivalBins*math.Max(0, math.Min(1, share)))]++
}

// factor is the share of its remaining declared work that a job is expected to do, having
// done a share: the mean of the jobs that came as far, and of one that completes.
func (s *survival) factor(done float64) float64 {
	if done >= 1 {
		return 1
	}
	jobs, sum := 1.0, 1.0
	for b := int(survivalBins*done) + 1; b < len(s.count); b++ {
		jobs += s.count[b]
		sum += s.count[b] * float64(b) / survivalBins
	}
	return math.Min(1, (sum/jobs-done)/(1-done))
}
