package policy

import (
	"math"

	"knee/allocate"
)

// OASiS admits jobs online by prices (Bao et al., INFOCOM 2018, section 4):
// the price of a GPU rises from L to U as the cluster fills,
// L·(U/L)^(used/capacity), where U is the largest utility per GPU-second any
// job brings and L the smallest over 4η. In order of arrival, a job takes the
// allocation whose utility exceeds its price most, if any does.
//
// Approximated: utility is weight over the completion time; instead of a
// schedule of future slots made at arrival, jobs choose again at every
// decision, at the prices of the moment and with a tenth in favour of what
// they have; a job that is turned away is not lost but asked again: in a
// replay everyone must end.
type OASiS struct{}

// eta is η, the slack of the paper's lower price.
const eta = 1.0

// staying is what the surplus of the present allocation counts.
const staying = 1.1

// Allocate implements [allocate.Policy].
func (OASiS) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	low, high := math.Inf(1), 0.0
	for i := range s.Jobs {
		for n := range s.Jobs[i].Options {
			if d := utility(s, i, n) / (spend(s, i, n)); d > 0 && !math.IsInf(d, 1) {
				low, high = math.Min(low, d), math.Max(high, d)
			}
		}
	}
	low /= 4 * eta
	capacity, used := float64(s.Cluster.Slots()), 0.0
	for _, i := range sorted(s, submitted) {
		price := low * math.Pow(high/low, used/math.Max(capacity, 1))
		best, surplus := -1, 0.0
		for n := range s.Jobs[i].Options {
			v := utility(s, i, n) - price*spend(s, i, n)
			if n == s.Jobs[i].Current {
				v *= staying
			}
			if v > surplus {
				best, surplus = n, v
			}
		}
		if best >= 0 && q.try(i, best) {
			used += float64(s.Jobs[i].Options[best].Use.GPUs)
		}
	}
	if used == 0 { // an empty cluster turns nobody away
		for _, i := range sorted(s, submitted) {
			q.serve(i)
		}
	}
	return q.assignment(), nil
}

// utility is what completing a job on an option brings.
func utility(s allocate.State, i, n int) float64 {
	j := &s.Jobs[i]
	return weightOf(j) / math.Max(s.Now-j.Submitted+optionTime(j, n), 1)
}

// spend is the GPU-seconds an option takes to the end of the job.
func spend(s allocate.State, i, n int) float64 {
	j := &s.Jobs[i]
	return float64(j.Options[n].Use.GPUs) * math.Max(optionTime(j, n), 1)
}

// optionTime is the seconds a job still needs on an option.
func optionTime(j *allocate.JobState, n int) float64 {
	if t := j.Options[n].Answer.TimeToTarget.Mean; t > 0 {
		return t
	}
	if g := j.Options[n].Answer.Goodput.Mean; g > 0 {
		return unknownWork * (Knee{}).smallest(*j) / g
	}
	return unknownWork
}
