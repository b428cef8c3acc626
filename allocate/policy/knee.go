package policy

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/solve"
)

// Knee is the recommended policy. It maximises, at every decision,
//
//	Σ_i w_i · kept_i(c) · f_i(c) / f_i(smallest)
//
// over one option c per job, where f is predicted goodput and kept the share
// of progress that remains after the restart that a change costs, spread over
// Horizon or the time to the end of the job, whichever is sooner.
//
// The weights are those that make the sum of completion times smallest where
// all speed-ups are k^p (heSRPT, Berg, Vesilo and Harchol-Balter, Performance
// Evaluation 2020, theorem 3): of the job with the r-th most time left,
//
//	w = (r^(1/(1−p)) − (r−1)^(1/(1−p)))^(1−p)
//
// where p is the mean over the options of the jobs, see elasticity. The theorem
// has no later arrivals, which delay long jobs more than short ones; so the weights
// are multiplied by T^−Power, T the time left on the smallest option.
//
// The problem is a multiple-choice knapsack over the GPU types, solved by
// [solve.Best]. Placement on nodes is separate.
type Knee struct {
	Power   float64 // 0 means 0.2
	Horizon float64 // seconds an allocation is expected to last at most; 0 means 300
	// Risk moves speeds from the expected one, 0, to the low end of their 90 %
	// interval, 1, as of many options with uncertain speeds the best one is likely
	// overestimated. It is halved for a job with Learning seconds left, 0 means 600,
	// and is smaller the longer the job: an option is measured by a restart and a
	// minute of running, a result that only a long job can use.
	Risk, Learning float64
}

// DefaultRisk is the Risk of the policy by name. It was set by hand, like Power,
// Horizon and Learning, on the workloads 1, 2 and 6 published with Pollux;
// BenchmarkLeaveOneOut of allocate/simulate/pollux scores each workload with the
// values chosen on the other two.
const DefaultRisk = 0.4

const (
	// shortest is the least time, in seconds, that an allocation or a job is
	// assumed to last.
	shortest = 60
	// unknownWork is the assumed time left of a job of unknown length, in seconds
	// on its smallest option.
	unknownWork = 1800
)

// Allocate implements [allocate.Policy].
func (k Knee) Allocate(s allocate.State) (allocate.Assignment, error) {
	per := k.weights(s.Jobs)
	for i := range s.Jobs {
		if base := k.smallest(&s.Jobs[i]); base > 0 {
			per[i] /= base // what a sample/s is worth
		} else {
			per[i] = 0
		}
	}
	return solve.Best(s, func(i, n int) float64 { return per[i] * k.kept(&s.Jobs[i], n) * k.tried(&s.Jobs[i], n) })
}

// assumed is the time left on the smallest option, in seconds.
func assumed(j *allocate.JobState) float64 {
	if j.Remaining <= 0 {
		return unknownWork
	}
	return j.Remaining
}

// left is [assumed], where less than a minute counts as a minute, so that a job
// about to end does not outweigh all others.
func left(j *allocate.JobState) float64 { return math.Max(assumed(j), shortest) }

// weights are those of the jobs. Of two with as much time left the one
// submitted first counts as the shorter.
func (k Knee) weights(jobs []allocate.JobState) []float64 {
	order := make([]int, len(jobs))
	for i := range jobs {
		order[len(jobs)-1-i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(left(&jobs[b]), left(&jobs[a])) })
	p, power := k.elasticity(jobs), cmp.Or(k.Power, 0.2)
	out := make([]float64, len(jobs))
	for n, i := range order {
		r, j := float64(n+1), &jobs[i]
		w := math.Pow(math.Pow(r, 1/(1-p))-math.Pow(r-1, 1/(1-p)), 1-p)
		out[i] = weightOf(j) * w / math.Pow(left(j)/3600, power)
	}
	return out
}

// elasticity is the mean, over the jobs that are known, of the power of the
// workers with which a job's speed grows from its smallest option to its
// fastest. It is limited so that powers of ranks differ and are finite.
func (k Knee) elasticity(jobs []allocate.JobState) float64 {
	var sum, n float64
	for i := range jobs {
		least, most := math.MaxInt, 0
		var slow, fast float64
		for _, o := range jobs[i].Options {
			v := k.speed(&o)
			if o.Use.GPUs < least || o.Use.GPUs == least && v > slow {
				least, slow = o.Use.GPUs, v
			}
			if v > fast {
				most, fast = o.Use.GPUs, v
			}
		}
		if jobs[i].Remaining > 0 && most > least && slow > 0 {
			sum, n = sum+math.Log(fast/slow)/math.Log(float64(most)/float64(least)), n+1
		}
	}
	const flat, linear = 0.1, 0.95
	if n == 0 {
		return 0.5
	}
	return math.Max(flat, math.Min(sum/n, linear))
}

// kept is the share of progress left after the restart that option n costs,
// over the time the option would be used: until the job ends, if that is
// sooner than the horizon.
func (k Knee) kept(j *allocate.JobState, n int) float64 {
	if j.Current < 0 || n == j.Current || j.Options[n].Keeps {
		return 1
	}
	h := cmp.Or(k.Horizon, 300)
	if v := k.speed(&j.Options[n]); j.Remaining > 0 && v > 0 {
		h = math.Min(h, math.Max(j.Remaining*k.smallest(j)/v, shortest))
	}
	return h / (h + math.Max(0, j.History.Restart))
}

// tried is the speed at which an uncertain option counts: below the expected speed
// by the risk, which shrinks with the job's time left (Learning).
func (k Knee) tried(j *allocate.JobState, n int) float64 {
	t, expected := assumed(j), Knee{}
	if v := expected.speed(&j.Options[n]); v > 0 {
		t *= expected.smallest(j) / v
	}
	learning := cmp.Or(k.Learning, 600)
	k.Risk *= learning / (learning + t)
	return k.speed(&j.Options[n])
}

// speed is the predicted speed of an option at the risk.
func (k Knee) speed(o *allocate.Option) float64 { return objective.Cautious(o.Answer.Goodput, k.Risk) }

// smallest is the speed of the option of fewest workers, the fastest of
// those.
func (k Knee) smallest(j *allocate.JobState) float64 {
	if len(j.Options) == 0 {
		return 0
	}
	return math.Max(0, k.speed(&j.Options[allocate.Narrowest(j.Options, k.speed)]))
}
