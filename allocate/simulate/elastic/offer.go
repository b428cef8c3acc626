package elastic

import (
	"math"
	"slices"

	"knee/allocate/simulate/agent"
)

// Growth bounds the workers that a job is offered, as a multiple of the most with which
// it was observed. It was chosen among 2, the rule of Pollux, 4 and 8 on workloads 1, 2
// and 6 published with Pollux.
const Growth = 4

// unseen is the power of the number of workers with which the speed of a job grows
// before it was observed: enough to use an otherwise idle node.
const unseen = 0.2

// Sizes are the worker counts worth offering: divisors of the GPUs of a node, then
// whole nodes, of which each count is a third to a half more than the one before, as
// less does not pay for a restart.
func Sizes(most, node int) []int {
	var out []int
	for k := 1; k < node; k++ {
		if node%k == 0 {
			out = append(out, k)
		}
	}
	for n := 1; node > 0; n *= 2 {
		out = append(out, n*node)
		if n > 1 {
			out = append(out, n/2*3*node)
		}
		if n*node > most {
			break
		}
	}
	slices.Sort(out)
	at, _ := slices.BinarySearch(out, most+1)
	return out[:at]
}

// between are the sizes from least up, least among them.
func between(sizes []int, least, most int) []int {
	if least <= 1 {
		return sizes
	}
	at, found := slices.BinarySearch(sizes, least)
	if found || least > most {
		return sizes[at:]
	}
	return slices.Insert(slices.Clone(sizes[at:]), 0, least)
}

// Expect is the batch for an allocation and the goodput to expect with it, in
// samples/s at initial-batch worth. That of a job without observations is 1 on one
// worker and grows slowly; it cannot be compared with other jobs.
func Expect(a *agent.Agent, nodes, k int) (c agent.Choice, goodput float64) {
	if !a.Ready() {
		return First(a.Limits, k), math.Pow(float64(k), unseen)
	}
	return a.Best(nodes, k)
}

// First is the batch of a job without observations: the initial one, or the smallest
// that its workers can share.
func First(l agent.Limits, k int) agent.Choice {
	total := math.Max(l.Initial, l.LocalMin*float64(k))
	if l.Fixed > 0 {
		total = l.Fixed
	}
	return agent.Divide(total, k, l.LocalMax, l.Initial)
}
