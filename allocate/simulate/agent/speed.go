package agent

import (
	"math"

	"knee/data"
	"knee/fit/speed/form"
	"knee/internal/leastsq"
)

// terms is the number of parameters of the form pollux of package form, the throughput
// model of Pollux (OSDI 2021, equations 8 to 11).
const terms = 7

// A normal prior over the coordinates of the form: the logarithms of times relative to
// the mean compute time observed, that of the time per sample times the largest local
// batch, and a logit of gamma. Half of the compute time at the initial batch does not
// depend on the batch, and the largest batch that fits into memory saturates the device;
// synchronising takes a fraction of a step within a node, about a step between nodes, and
// grows by percents per worker. A standard deviation is a factor of e^1.5. Times are
// observed up to a relative error of noise, which stands for what the form cannot follow.
//
// A beta_c that is too small costs nothing, as a larger batch is tried without a restart;
// an alpha_n that is too small costs one. alpha_n = 1 and beta_c = e^1.5 over the largest
// batch were chosen among powers of √e, seeing the mean JCT of workloads 1, 2 and 6
// published with Pollux; the others are those of the family pollux of package fit.
var priorMean = [terms]float64{-0.7, 1.5, 0, -4, -1.5, -4, -1.5}

const priorSD, noise = 1.5, 0.05

// point is a configuration without accumulation.
func (k Key) point() *form.Point {
	return &form.Point{Nodes: float64(k.Nodes), Workers: float64(k.Workers), Batch: k.Local}
}

var newForm = form.Families()["pollux"].New

// fit finds the most likely parameters under the prior.
func fit(l Limits, obs []Observation) form.Curve {
	logs, points := make([][2]float64, len(obs)), make([]*form.Point, len(obs)) // logs of step and compute times
	var unit float64
	for i, o := range obs {
		const least = 1e-8 // s
		logs[i] = [2]float64{math.Log(o.Step), math.Log(math.Max(o.Step-o.Sync, least))}
		points[i] = o.point()
		unit += logs[i][1] / float64(len(obs))
	}
	f := newForm(data.AllReduce, nil, form.Scale{Time: math.Exp(unit), Batch: l.LocalMax}, false)
	// The coordinates in standard deviations of the prior, then the times of every
	// observation in those of the noise.
	residuals := func(x, r []float64) {
		for i := range terms {
			r[i] = (x[i] - priorMean[i]) / priorSD
		}
		c := f.Bind(x)
		for n, p := range points {
			step, compute := c.LogTimes(p)
			r[terms+2*n] = (compute - logs[n][1]) / noise
			r[terms+2*n+1] = (step - logs[n][0]) / noise
		}
	}
	problem := leastsq.Problem{Params: terms, Rows: terms + 2*len(obs), Residuals: residuals}
	best := leastsq.Minimize(problem, priorMean[:], leastsq.Settings{MaxIterations: 30, Lambda: 1e-3, MaxStep: 3, Tolerance: 1e-3})
	return f.Bind(best.X)
}

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
