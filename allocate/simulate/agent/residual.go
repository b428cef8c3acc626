package agent

import (
	"math"

	"knee/fit/speed/form"
)

// size is the part of a configuration that synchronisation depends on, by the form.
type size struct {
	several bool // nodes
	workers int
}

func (k Key) size() size { return size{k.Nodes > 1, k.Workers} }

// residual is what the form leaves of the logarithms of step times, by size: the mean
// over the batches observed, normal with the mean square of what the form leaves as
// variance, given a mean with the variance within sizes over those batches. Neighbouring
// sizes tell each other nothing: with a Gaussian process over the logarithm of workers,
// jobs of drawn workloads (BenchmarkLearn of package pollux) end no sooner.
type residual map[size]float64

func newResidual(c form.Curve, obs []Observation) residual {
	r, count, left := residual{}, map[size]float64{}, make([]float64, len(obs))
	var variance, within float64
	for i, o := range obs {
		step, _ := c.LogTimes(o.point())
		left[i] = math.Log(o.Step / math.Exp(step))
		count[o.size()]++
		r[o.size()] += (left[i] - r[o.size()]) / count[o.size()]
		variance += left[i] * left[i] / float64(len(obs))
	}
	for i, o := range obs {
		within += (left[i] - r[o.size()]) * (left[i] - r[o.size()]) / float64(len(obs))
	}
	for at, n := range count {
		if variance > 0 {
			r[at] *= variance / (variance + within/n)
		}
	}
	return r
}
