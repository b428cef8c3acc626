package agent

import (
	"cmp"
	"math"
	"slices"

	"knee/fit/speed/form"
)

// Key identifies an observed configuration.
type Key struct {
	Nodes, Workers int
	Local          float64 // samples per worker per micro-step
}

// Observation is the time of a step in a configuration, in seconds.
type Observation struct {
	Key
	Step, Sync float64
}

// Limits bound the batch an agent may choose, in samples.
type Limits struct {
	Initial, Max       float64 // total
	LocalMin, LocalMax float64 // per worker and micro-step
	Fixed              float64 // the total batch, where it must not change; 0 = free
}

// Choice is a batch for given workers.
type Choice struct {
	Local float64 // samples per worker per micro-step, whole
	Accum int     // extra accumulation micro-steps
}

// Batch is the total batch of a choice on k workers.
func (c Choice) Batch(k int) float64 { return float64(k) * c.Local * float64(c.Accum+1) }

// Agent learns the speed of one job on one GPU type.
type Agent struct {
	Limits
	*Speeds

	gradient gradient
	best     map[size]answer
	fits     int // observations on which best is based
}

// Speeds is what has been observed of an application on one GPU type. Agents may share one.
type Speeds struct {
	Observations []Observation
	Model        form.Curve // nil before the first observation

	residual residual
	first    gradient // of the first job that was observed, when it began
}

// gradient is the squared norm and the variance of a gradient.
type gradient struct {
	sqr, variance float64
	known         bool
}

type answer struct {
	choice  Choice
	goodput float64
}

// Observe adds the first step time of a configuration.
func (a *Agent) Observe(o Observation) {
	if slices.ContainsFunc(a.Observations, func(x Observation) bool { return x.Key == o.Key }) {
		return
	}
	a.Observations = append(a.Observations, o)
	a.Model = fit(a.Limits, a.Observations)
	a.residual = newResidual(a.Model, a.Observations)
}

// ObserveGradient sets the squared norm and variance of the gradient.
func (a *Agent) ObserveGradient(sqr, variance float64) {
	now := gradient{sqr, variance, true}
	if a.gradient == now {
		return
	}
	if !a.first.known {
		a.first = now
	}
	a.gradient = now
	clear(a.best)
}

// Ready reports whether the agent can predict.
func (a *Agent) Ready() bool { return a.Model != nil && a.first.known }

// goodput is the modelled goodput of one choice, in samples/s at initial-batch worth:
// throughput by statistical efficiency, the progress per sample relative to the initial
// batch. Before a job has run, its gradient is that of the first job of its application
// at the begin.
func (a *Agent) goodput(p *form.Point, c Choice) float64 {
	p.Batch = c.Local
	step, compute := a.Model.LogTimes(p)
	g, batch := a.gradient, c.Batch(int(p.Workers))
	if !g.known {
		g = a.first
	}
	scale := batch / a.Initial
	return batch / (math.Exp(step) + float64(c.Accum)*math.Exp(compute)) * ((g.variance + g.sqr) / (g.variance/scale + g.sqr) / scale)
}

// unseen is the power of the number of workers with which the speed of a job grows before
// it was observed: enough to use an otherwise idle node.
const unseen = 0.2

// Best is the batch of the highest goodput on an allocation, and that goodput; 0 if no
// batch is allowed there. The goodput of a job that is not [Agent.Ready] is 1 on one
// worker and grows slowly; it cannot be compared with that of other jobs.
func (a *Agent) Best(nodes, workers int) (c Choice, goodput float64) {
	if !a.Ready() {
		return a.First(workers), math.Pow(float64(workers), unseen)
	}
	at := Key{nodes, workers, 0}.size()
	if a.best == nil || a.fits != len(a.Observations) {
		a.best, a.fits = map[size]answer{}, len(a.Observations)
	}
	if b, ok := a.best[at]; ok {
		return b.choice, b.goodput
	}
	top, p := answer{choice: a.First(workers)}, Key{nodes, workers, 0}.point()
	for _, c := range a.Choices(workers) {
		if c.Local < a.LocalMin || c.Local > a.LocalMax {
			continue
		}
		if g := a.goodput(p, c); g > top.goodput {
			top.choice, top.goodput = c, g
		}
	}
	top.goodput *= math.Exp(-a.residual[at])
	a.best[at] = top
	return top.choice, top.goodput
}

// batchSteps is the number of total batches tried.
const batchSteps = 50

// Choices lists the batches worth trying on k workers, by Pollux's rule: 50 geometric
// steps of the total batch, each divided by [Divide].
func (l Limits) Choices(k int) []Choice {
	if l.Fixed > 0 {
		return []Choice{l.First(k)}
	}
	total := math.Max(l.Initial, l.LocalMin*float64(k))
	ratio := math.Pow(l.Max/total, 1.0/(batchSteps-1))
	out := make([]Choice, batchSteps)
	for i := range out {
		out[i] = Divide(total, k, l.LocalMax, l.Initial)
		total *= ratio
	}
	out[batchSteps-1] = Divide(l.Max, k, l.LocalMax, l.Initial)
	return slices.Compact(out)
}

// First is the initial batch on k workers, or the smallest that they can share.
func (l Limits) First(k int) Choice {
	return Divide(cmp.Or(l.Fixed, math.Max(l.Initial, l.LocalMin*float64(k))), k, l.LocalMax, l.Initial)
}

// Divide spreads a total batch over k workers: as few micro-steps as the local limit
// allows; at least one more for a lone worker above the initial batch, since gradient
// statistics need two gradients.
func Divide(total float64, k int, localMax, initial float64) Choice {
	local := float64(ceil(total / float64(k)))
	accum := max(ceil(local/localMax)-1, 0)
	if k == 1 && total > initial {
		accum = max(1, accum)
	}
	return Choice{float64(ceil(local / float64(accum+1))), accum}
}

// ceil rounds up what is not whole up to rounding.
func ceil(x float64) int { return int(math.Ceil(x - 1e-8)) }
