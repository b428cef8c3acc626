package fit

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// The priors of both scales. scaleFreedom is the degrees of freedom of the
// scaled inverse chi-squared prior of scale², around 1: of 2, 3 and 4 none
// stands out. The logarithm of the scale of compute times is Cauchy around
// that of the step times: what disturbs a run disturbs both, but timers may
// also be off for reasons of their own, and then by any factor.
const (
	scaleFreedom = 3
	timersApart  = .15
)

// The grid of ln scale: its distance, its ends in steps, and the drop in log
// density beyond which it is not followed.
const (
	gridStep    = .4
	lowestStep  = -3
	highestStep = 6
	highestDrop = 10
)

// evidenceShare is how much the marginal density of the measurements counts
// in the inference of scales, beside the density of each given the others.
//
// The marginal one is what probability asks for, and with few measurements
// it alone sees noise that the parameters could also explain: by the others
// alone, intervals on runs that differ by 20 % cover 77 %. But being normal it
// lets what the form cannot follow decide (one of twelve jobs is predicted
// worse by half), which densities with heavy tails do not. The share was
// chosen on the measured times of twelve jobs with noise put on them.
const evidenceShare = .7

// outlierFreedom is the degrees of freedom of the density of each measurement
// given the others, so that one outlier does not decide.
const outlierFreedom = 5

// estimateTail is the probability with which the scale is smaller than the
// one that the estimate takes.
const estimateTail = 5e-4

// infer updates both scales, of step times and of compute times, jointly on a
// grid around what the kernel assumes, with the form linearised around theta
// and its parameters integrated out.
//
// In-sample residuals would not do: with few measurements the form follows
// them, and the smaller they are the less they say.
func (s spread) infer(f form, l *layout, theta []float64) spread {
	s.Nodes, s.Weights, s.Timers = nil, nil, 0
	e := &evidence{of: s, layout: l, at: l.linearize(f, theta), compute: map[int]*block{}, top: math.Inf(-1)}
	// Outwards from what is assumed, as far as the density counts.
	for _, way := range []int{1, -1} {
		for i := min(way, 0); i >= lowestStep && i <= highestStep && e.column(i); i += way {
		}
	}
	s.Nodes, s.Weights = e.marginal(func(c cell) int { return c.scale })
	if len(l.compute.rows) > 0 && len(e.cells) > 0 {
		timers := spread{}
		timers.Nodes, timers.Weights = e.marginal(func(c cell) int { return c.timers })
		s.Timers = timers.quantile(.5)
	}
	// The estimate moves only as far as the measurements insist, and never
	// below 1: a form that trusts single rows more bends towards them. A few
	// rows that were never repeated insist on nothing; what the form cannot
	// follow may be real. The intervals have the whole posterior.
	s.Scale = 1
	if len(l.ms) >= minScreen || s.RunFree > 0 {
		s.Scale = math.Max(1, s.quantile(estimateTail))
	}
	return s
}

// cell is a point of the grid of scales, in steps from 1.
type cell struct{ scale, timers int }

// evidence collects the log posterior density of the scales.
type evidence struct {
	of      spread
	layout  *layout
	at      *linearized
	compute map[int]*block // by scale of the compute times, nil if not positive definite
	cells   []cell         // in order, so that sums have one order of rounding
	density []float64      // of each cell
	top     float64
}

// column adds the cells of one scale of step times and reports whether any
// counts.
func (e *evidence) column(i int) (counts bool) {
	e.of.Scale = math.Exp(gridStep * float64(i))
	w, ok := e.layout.stepUnder(e.of, 0)
	if !ok {
		return false
	}
	step, ok := e.at.stepBlock(w)
	if !ok {
		return false
	}
	if e.at.compute == 0 {
		d, ok := e.add(step, cell{i, i})
		return ok && d >= e.top-highestDrop
	}
	for k := lowestStep; k <= highestStep; k++ {
		if d, ok := e.add(step, cell{i, k}); ok && d >= e.top-highestDrop {
			counts = true
		}
	}
	return counts
}

// add adds one cell and returns its log density.
func (e *evidence) add(step *stepBlock, at cell) (float64, bool) {
	compute := e.computeBlock(at.timers)
	if compute == nil {
		return 0, false
	}
	u, ok := e.at.fuse(step, compute)
	if !ok {
		return 0, false
	}
	apart := gridStep * float64(at.timers-at.scale) / timersApart
	d := evidenceShare*u.evidence + (1-evidenceShare)*u.predictive() +
		e.of.repeated() + e.of.logPrior() - math.Log1p(apart*apart)
	if math.IsNaN(d) {
		return 0, false
	}
	e.cells, e.density, e.top = append(e.cells, at), append(e.density, d), math.Max(e.top, d)
	return d, true
}

// computeBlock returns the compute times under one of their scales.
func (e *evidence) computeBlock(k int) *block {
	if b, ok := e.compute[k]; ok {
		return b
	}
	e.compute[k] = nil
	if w, ok := e.layout.computeUnder(spread{Timers: math.Exp(gridStep * float64(k))}, 0); ok {
		b := e.at.computeBlock(w)
		e.compute[k] = &b
	}
	return e.compute[k]
}

// marginal returns the posterior of one coordinate of the cells.
func (e *evidence) marginal(of func(cell) int) (nodes, weights []float64) {
	sum := map[int]float64{}
	var total float64
	for i, c := range e.cells {
		w := math.Exp(e.density[i] - e.top)
		sum[of(c)] += w
		total += w
	}
	for i := lowestStep; i <= highestStep; i++ {
		if w, ok := sum[i]; ok {
			nodes, weights = append(nodes, math.Exp(gridStep*float64(i))), append(weights, w/total)
		}
	}
	return nodes, weights
}

// logPrior is that of ln scale, up to a constant.
func (s spread) logPrior() float64 {
	return -scaleFreedom*math.Log(s.Scale) - scaleFreedom/(2*s.Scale*s.Scale)
}

// repeated is the log marginal density of the scatter within configurations,
// up to a constant.
func (s spread) repeated() float64 {
	if s.RunFree == 0 {
		return 0
	}
	assumed := runFreedom * s.Scale * s.Scale * runNoise * runNoise
	return .5 * (runFreedom*math.Log(assumed) - (runFreedom+s.RunFree)*math.Log(assumed+s.RunFree*s.RunVar))
}

// predictive is the log density of the measurements, each given the others
// (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006,
// section 5.4.2), up to a constant.
func (u *fusion) predictive() float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: outlierFreedom}
	mean, sd := u.leaveOneOut()
	var l float64
	for i := range mean {
		l += t.LogProb((u.step.ln[i]-mean[i])/sd[i]) - math.Log(sd[i])
	}
	return l
}
