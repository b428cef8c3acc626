package elastic

import (
	"math"

	"knee/allocate/simulate/agent"
)

// unseen is the power of the number of workers with which the speed of a job grows
// before it was observed: enough to use an otherwise idle node.
const unseen = 0.2

// sizes are the worker counts from least to most that are worth offering: divisors of
// the GPUs of a node, then whole nodes, of which each count is a third to a half more
// than the one before, as less does not pay for a restart; and least itself.
func sizes(least, most, node int) (out []int) {
	powerOfTwo := func(n int) bool { return n&(n-1) == 0 }
	for k := max(1, least); k <= most; k++ {
		if n := k / node; k == least || k < node && node%k == 0 || k%node == 0 && (powerOfTwo(n) || n%3 == 0 && powerOfTwo(n/3)) {
			out = append(out, k)
		}
	}
	return out
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
