package bayesopt

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// offsets returns, for every candidate, the response minus ln step time. The
// response is ln of the objective, negated if maximised, so that smaller is
// better; the difference is known exactly:
//
//	step_time       0
//	throughput     −ln S            S samples per step
//	goodput        −ln(S·e)         e statistical efficiency
//	cost_to_target  ln(p·W/3600) − ln(S·e)   p US$/h, W samples of work
//
// If no candidate has a batch, the unit of work is a step. Under JobTime a
// "step" is the whole job, and S, e and W are 1.
func (o Options) offsets(cands []data.Config) ([]float64, error) {
	batchKnown := slices.ContainsFunc(cands, func(c data.Config) bool { return c.LocalBatch > 0 })
	out := make([]float64, len(cands))
	for i, c := range cands {
		v, err := o.offset(c, batchKnown)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (o Options) offset(c data.Config, batchKnown bool) (float64, error) {
	if o.Objective == StepTime || o.Objective == Accuracy {
		return 0, nil
	}
	var err error
	logOf := func(v float64, column, want string) float64 {
		if err == nil && !positive(v) {
			err = &data.InputError{Source: data.Source{Column: column}, Found: fmt.Sprintf("%.6g for candidate %s", v, c), Want: want}
		}
		return math.Log(v)
	}
	samples := 0.0 // ln of the samples of a step
	if batchKnown && !o.JobTime {
		samples = logOf(c.SamplesPerStep(), "local_batch", "samples per step > 0, for every candidate or for none")
	}
	if o.Objective != Throughput && o.Efficiency != nil && !o.JobTime {
		samples += logOf(o.Efficiency(c.GlobalBatch()), "efficiency", "a statistical efficiency > 0")
	}
	if o.Objective != CostToTarget {
		return -samples, err
	}
	return logOf(o.Price(c), "price_per_hour", "US$ per hour > 0 for every candidate") + math.Log(o.Work/3600) - samples, err
}

// latest returns, for every candidate, ln of the step time with which Work ends
// exactly at the deadline, +Inf without one.
func (o Options) latest(cands []data.Config) ([]float64, error) {
	if o.Deadline == 0 {
		return slices.Repeat([]float64{math.Inf(1)}, len(cands)), nil
	}
	steps := o
	steps.Objective = Goodput
	out, err := steps.offsets(cands)
	for i := range out {
		out[i] = math.Log(o.Deadline) - (out[i] + math.Log(o.Work))
	}
	return out, err
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// natural converts a response to the objective: seconds, samples/s or US$.
func (o Objective) natural(response float64) float64 {
	if o.Maximised() {
		return math.Exp(-response)
	}
	return math.Exp(response)
}

// Unit returns the unit of the objective.
func (o Objective) Unit() string {
	switch o {
	case Goodput:
		return "samples/s at initial-batch worth"
	case StepTime, Accuracy:
		return "s"
	case CostToTarget:
		return "US$"
	}
	return "samples/s"
}

// estimate returns the objective with its 90 % interval; Mean is e^(mean of the
// response), the median of a log-normal.
func (o Objective) estimate(p Predictive) data.Estimate {
	m, _ := p.Moments()
	lo, hi := p.Quantile(0.05), p.Quantile(0.95)
	if o.Maximised() {
		lo, hi = hi, lo
	}
	e := data.Estimate{Mean: o.natural(m), Lo: o.natural(lo), Hi: o.natural(hi)}
	e.Lo, e.Hi = min(e.Lo, e.Mean), max(e.Hi, e.Mean)
	return e
}

// margin is the change of the response for an objective better by the given
// fraction.
func (o Objective) margin(fraction float64) float64 {
	if o.Maximised() {
		return math.Log1p(fraction)
	}
	return -math.Log1p(-fraction)
}

// Value returns the objective of a measurement in its natural unit; false if it
// has none.
func (o Options) Value(m data.Measurement) (float64, bool) {
	if m.Status != data.OK || !positive(m.StepTime) {
		return 0, false
	}
	offset, err := o.offset(m.Config, m.LocalBatch > 0)
	if err != nil {
		return 0, false
	}
	return o.Objective.natural(math.Log(m.StepTime) + offset), true
}
