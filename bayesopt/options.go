package bayesopt

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// Objective is the quantity that a search optimises.
type Objective string

// The objectives of a study.
const (
	Throughput   Objective = "throughput"     // maximise samples/s
	Goodput      Objective = "goodput"        // maximise samples/s, each worth one at the initial batch
	StepTime     Objective = "step_time"      // minimise seconds per step
	CostToTarget Objective = "cost_to_target" // minimise price ÷ goodput
	Accuracy     Objective = "accuracy"       // predict the step time well everywhere
)

// Objectives returns the objectives in their documented order.
func Objectives() []Objective {
	return []Objective{Throughput, Goodput, StepTime, CostToTarget, Accuracy}
}

// ObjectiveOf returns the objective of a study; strategies refuse an unknown one.
func ObjectiveOf(o data.Objective) Objective {
	if o.Cover {
		return Accuracy
	}
	return cmp.Or(Objective(o.Maximize+o.Minimize), Throughput)
}

// Maximised reports whether larger values of the objective are better.
func (o Objective) Maximised() bool { return o == Throughput || o == Goodput }

// Options configures a strategy. The zero value maximises throughput.
type Options struct {
	Objective Objective // empty: Throughput

	// Price returns the US$ per hour of a whole configuration; nil, or a result
	// that is not positive, means unknown. CostToTarget requires it.
	Price func(data.Config) float64

	// Efficiency returns the statistical efficiency (0, 1] at a global batch in
	// samples; nil means 1.
	Efficiency func(globalBatch float64) float64

	// Work is the number of samples, each worth one at the initial batch, for CostToTarget;
	// 0 means one. Deadline is the longest time for it, in seconds; 0 means no limit.
	Work, Deadline float64

	// JobTime says that StepTime of measurements is the time of the whole job,
	// as in recorded tables. The batch is then an ordinary knob, Efficiency is
	// ignored, and Work stays 1.
	JobTime bool

	Forms  []MeanForm  // parametric forms of ln step time that compete as prior mean
	Memory MemoryModel // of feasibility, may be nil; a classifier covers the rest
	Target *Target     // part of the space to optimise; nil: all of it
	// Model predicts the target. Without one it is asked before a search stops, which goes
	// on while, by its draws, something is better; nil, or an error: nobody is asked.
	Model JointModel

	Seed int64 // of ties and draws

	// Noisy says that repeated measurements scatter by several per cent. The best so far is
	// then by posterior mean, and trials are repeated if that helps, unless Once is set.
	Noisy, Once bool

	// Trials is the budget of trials, failed and running ones included; 0 means
	// unknown. At most a quarter of it, or of the trials so far, goes to repetitions
	// while other candidates are left.
	Trials int

	// TargetRegret is the accepted loss to the best, as a fraction of the objective: the
	// search ends when a larger improvement is improbable. 0 means 0.05.
	TargetRegret float64

	// Constants of the guided strategy; nil: the learned ones.
	Constants *Constants

	// KeepGoing continues after the stopping rule fires, until the candidates
	// are exhausted; see [Suggestion.Fired].
	KeepGoing bool

	// TrialSeconds is the expected duration of a trial before one was measured; 0 means 60.
	TrialSeconds float64
}

// Validate fills in defaults; it fails for invalid options.
func (o Options) Validate() (Options, error) {
	o.Objective = cmp.Or(o.Objective, Throughput)
	switch {
	case !slices.Contains(Objectives(), o.Objective):
		return o, fmt.Errorf("objective %q is unknown; want one of %v", o.Objective, Objectives())
	case o.Objective == CostToTarget && o.Price == nil:
		return o, fmt.Errorf("objective cost_to_target needs prices; want price_per_hour for every gpu type")
	case o.Trials < 0:
		return o, fmt.Errorf("budget of trials: found %d, want 0 (not known) or more", o.Trials)
	case !(o.TargetRegret >= 0 && o.TargetRegret < 1):
		return o, fmt.Errorf("target regret: found %v, want 0 (default) to less than 1", o.TargetRegret)
	case o.Target != nil && o.Model == nil:
		return o, errors.New("target: no model; want one that predicts unmeasured configurations")
	case o.Target != nil && (o.Objective == Accuracy || o.Deadline > 0):
		return o, fmt.Errorf("target with objective %s and deadline %v, want throughput, goodput, step_time or cost_to_target without a deadline", o.Objective, o.Deadline)
	}
	for _, of := range []struct {
		what string
		v    float64
	}{{"work", o.Work}, {"deadline", o.Deadline}, {"trial seconds", o.TrialSeconds}} {
		if !(of.v >= 0) || math.IsInf(of.v, 1) {
			return o, fmt.Errorf("%s: found %v, want 0 (default) or more", of.what, of.v)
		}
	}
	if o.Constants == nil {
		learned := LearnedConstants()
		o.Constants = &learned
	}
	o.TargetRegret, o.Work, o.TrialSeconds = cmp.Or(o.TargetRegret, 0.05), cmp.Or(o.Work, 1), cmp.Or(o.TrialSeconds, 60)
	return o, nil
}

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
	out, err := make([]float64, len(cands)), error(nil)
	for i := 0; i < len(cands) && err == nil; i++ {
		out[i], err = o.offset(cands[i], batchKnown)
	}
	return out, err
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
	o.Objective = Goodput
	out, err := o.offsets(cands)
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
	return map[Objective]string{Throughput: "samples/s", Goodput: "samples/s, counted as at the initial batch",
		StepTime: "s", Accuracy: "s", CostToTarget: "US$"}[o]
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

// margin is the change of the response for an objective better by the given fraction.
func (o Objective) margin(fraction float64) float64 {
	if o.Maximised() {
		return math.Log1p(fraction)
	}
	return -math.Log1p(-fraction)
}

// Value returns the objective of a measurement in its natural unit; false if it has none.
func (o Options) Value(m data.Measurement) (float64, bool) {
	if m.Status != data.OK || !positive(m.StepTime) {
		return 0, false
	}
	offset, err := o.offset(m.Config, m.LocalBatch > 0)
	return o.Objective.natural(math.Log(m.StepTime) + offset), err == nil
}

// Constants are the numbers of the guided strategy without a theoretical value. The
// programs that learn them score them on the kind of table left out.
type Constants struct {
	// FailureCost is the cost of running out of memory, as a fraction of the objective. It
	// counts once a trial has run out of memory or time.
	FailureCost float64
	// UsualFits is the expected share of a space that fits in memory, before any trial.
	UsualFits float64
	// LengthSD is the prior standard deviation of every ln ℓ. It is large, so that in some
	// draws some columns hardly matter: columns of a table are redundant.
	LengthSD float64
	// RampShare is the share of draws in which knobs have a [Ramp], for times of
	// steps: less than 1, as with a ramp no knob matters on one worker.
	RampShare float64
	// RecordTrust is the weight, in trials, of the assumption that predicted
	// standard deviations are correct.
	RecordTrust float64
	// TailFreedom is the degrees of freedom of Student's t distribution of
	// prediction errors, more than 2.
	TailFreedom float64
	// StopChance is the probability of something better by the target below which a search
	// ends: the largest with which nine of ten are right on every kind of table.
	StopChance float64
}

// LearnedConstants returns the results of BenchmarkTails (TailFreedom), BenchmarkClaims
// (StopChance), BenchmarkExchange (RampShare) and, before these, BenchmarkLearn, which
// changed RecordTrust and kept the starting values of the first three.
func LearnedConstants() Constants {
	return Constants{FailureCost: 0.02, UsualFits: 0.95, LengthSD: 1.3, RampShare: 0.8, RecordTrust: 2, TailFreedom: 4, StopChance: 0.01}
}

// softness is the standard deviation, in doublings, of the memory headroom that
// features do not explain, from TestMemorySlopes.
const softness = 0.5
