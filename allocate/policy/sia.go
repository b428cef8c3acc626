package policy

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/solve"
)

// sia chooses for every job one GPU type and one of the configurations of 1, 2, 4, … workers
// of a node or whole nodes of it (Subramanya et al., SOSP 2023, section 3): minimise
// Σ A·x + λ (jobs − Σ x), where A is the goodput of a configuration, relative to the least
// useful one of the job and discounted by the restart it costs, to the power p = −0.5, and
// λ = 1.1 makes leaving a job out worse than any configuration. Simplified, see
// docs/policies.md.
func sia(s allocate.State) (allocate.Assignment, error) {
	const power, idle = -0.5, 1.1
	fits := place.Fits(s.Cluster)
	return solve.Best(s, func(i, n int) float64 {
		j := &s.Jobs[i]
		o := &j.Options[n]
		if o.Answer.Goodput.Mean <= 0 || n != j.Current && !siaOffers(fits, j, o) {
			return 0
		}
		v := o.Answer.Goodput.Mean / leastUseful(j) * agedRestart(s, j, n)
		return math.Max(idle-math.Pow(math.Max(v, 1e-4), power), 0)
	})
}

// siaOffers reports whether an option is a configuration. A job that can have none, such as a
// rigid one of three workers, is taken as it is.
func siaOffers(fits map[string]place.Fit, j *allocate.JobState, o *allocate.Option) bool {
	is := func(o *allocate.Option) bool { // a power of two within a node, or whole nodes
		n, node := o.Use.GPUs, fits[o.Use.GPUType].Widest()
		return node > 0 && (n%node == 0 || n < node && n&(n-1) == 0)
	}
	return is(o) || !slices.ContainsFunc(j.Options, func(o allocate.Option) bool { return is(&o) })
}

func leastUseful(j *allocate.JobState) float64 {
	least := math.Inf(1)
	for _, o := range j.Options {
		if g := o.Answer.Goodput.Mean; g > 0 {
			least = math.Min(least, g)
		}
	}
	return least
}
