package elastic

import (
	"math"
	"slices"

	"knee/allocate/simulate/agent"
	"knee/data"
)

// Growth is how many times the most workers a job was seen with it is offered
// at most. Beyond, a model is guessing. It was chosen among 2, which is
// Pollux's rule, 4 and 8 on workloads 1, 2 and 6 of the publication.
const Growth = 4

// unseen is the power of the number of workers that the speed of a job is
// taken to grow with before anything is known of it: enough to use a node
// that nobody else wants.
const unseen = 0.2

// normal95 is the 95 % quantile of the standard normal distribution.
const normal95 = 1.6449

// Sizes are the worker counts worth offering: parts of a node that fill it
// without rest, then whole nodes, of which each count is a third to a half
// more than the one before, as less does not pay for a restart.
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

// between are the sizes from least up. A least that is not one of them is one
// too, as its owner may have none larger.
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
// samples/s at initial-batch worth. A job that has not been observed has one
// that means nothing beside other jobs: 1 on one worker, rising slowly.
func Expect(a *agent.Agent, nodes, k int) (agent.Choice, data.Estimate) {
	if !a.Ready() {
		g := math.Pow(float64(k), unseen)
		return First(a.Limits, k), data.Estimate{Mean: g, Lo: g, Hi: g}
	}
	c, g := a.Best(nodes, k)
	off := math.Exp(normal95 * a.Uncertainty(nodes, k))
	return c, data.Estimate{Mean: g, Lo: g / off, Hi: g * off}
}

// First is the batch of a job that nothing is known of yet: the initial one,
// or the smallest the workers can share.
func First(l agent.Limits, k int) agent.Choice {
	total := math.Max(l.Initial, l.LocalMin*float64(k))
	if l.Fixed > 0 {
		total = l.Fixed
	}
	return agent.Divide(total, k, l.LocalMax, l.Initial)
}
