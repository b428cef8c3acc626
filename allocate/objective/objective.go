package objective

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
	"knee/internal/list"
	"knee/predict"
)

// Objective gives the value of an allocation; the value of a plan rises with their sum.
type Objective struct {
	Value    func(s Subject, o Outcome) float64 // of an option; larger is better
	Idle     func(s Subject) float64            // if the job gets nothing
	Unpriced bool                               // Idle is only a number below any option's, so that an option has no worth beside it
	report   func(sum, weights float64) float64 // see Report; nil: the sum
}

// Report turns the sum of values into the number that a plan shows, which rises with it.
func (o Objective) Report(sum float64, subjects []Subject) float64 {
	if o.report == nil {
		return sum
	}
	return o.report(sum, list.Sum(subjects, Subject.Weight))
}

// Subject is a job as an objective uses it.
type Subject struct {
	Job        data.Job
	Reference  predict.Answer // of its smallest allocation, in units of which speeds of different jobs are compared
	Fair       float64        // goodput, samples/s, of an equal share of the cluster; 0 takes that of Reference
	Risk       float64        // from 0 to 1; see Speed
	Hysteresis float64        // seconds of progress, besides its restart, that a change of a running job must be worth
}

// Outcome is an option of a job and what changing to it costs.
type Outcome struct {
	Answer  predict.Answer
	Restart float64 // seconds without progress; 0 if the job already runs on it
}

// horizon is how long, in seconds, an allocation is expected to last: a restart of r seconds
// leaves horizon/(horizon + r) of the speed. Chosen by replaying published workloads.
const horizon = 600.0

// kept is the share of progress that is left after the restart.
func (o Outcome) kept() float64 { return horizon / (horizon + math.Max(0, o.Restart)) }

// Weight is the weight of the job, 1 if not set.
func (s Subject) Weight() float64 { return cmp.Or(max(0, s.Job.Weight), 1) }

// Speed is the goodput, in samples/s, that an answer is planned with. A finish time is
// proportional to seconds per sample, so their expectation counts: a long tail of slow cases
// weighs as much as it takes time. Risk moves it from the expectation (0) to the upper end of
// the 90 % interval (1).
func (s Subject) Speed(a predict.Answer) float64 {
	g := a.Goodput
	if !(g.Mean > 0) {
		return 0
	}
	perSample := 1 / g.Mean
	if a.Expected > 0 {
		perSample *= a.Expected / a.StepTime.Mean
	}
	if g.Lo > 0 {
		perSample += math.Min(s.Risk, 1) * math.Max(0, 1/g.Lo-perSample)
	}
	return 1 / perSample
}

// toFair is the speed of an outcome relative to the fair share, after its restart.
func (s Subject) toFair(o Outcome) float64 {
	if s.Fair <= 0 {
		return o.kept() * s.relative(o)
	}
	return o.kept() * s.Speed(o.Answer) / s.Fair
}

// relative is the speed of an outcome in units of the reference.
func (s Subject) relative(o Outcome) float64 {
	ref := s.Speed(s.Reference)
	if ref <= 0 {
		return 0
	}
	return s.Speed(o.Answer) / ref
}

// remaining is the time left, in seconds, at the speed planned with, +Inf without progress.
// Unknown work is an hour at the speed of the reference.
func (s Subject) remaining(a predict.Answer) float64 {
	const unknown = 3600
	v := s.Speed(a)
	switch {
	case v <= 0:
		return math.Inf(1)
	case a.TimeToTarget.Mean > 0:
		return a.TimeToTarget.Mean * a.Goodput.Mean / v
	case s.Reference.TimeToTarget.Mean > 0:
		return s.Reference.TimeToTarget.Mean * s.Reference.Goodput.Mean / v
	}
	return unknown * s.Speed(s.Reference) / v
}

func objectives() map[string]Objective {
	return map[string]Objective{"jct": jct, "saved-time": savedTime, "goodput": powerMean, "fairness": nash, "cost": cost, "deadline": deadline}
}

// Names lists the names of the known objectives.
func Names() []string { return slices.Sorted(maps.Keys(objectives())) }

// Default is the objective of the empty name.
const Default = "jct"

// New returns the objective of a name.
func New(name string) (Objective, error) {
	if o, ok := objectives()[cmp.Or(name, Default)]; ok {
		return o, nil
	}
	return Objective{}, &data.UnknownError{What: "objective", Name: name, Known: Names()}
}

// SetValues sets the value of every option.
func SetValues(o Objective, s Subject, options []allocate.Option) {
	for i := range options {
		options[i].Value = ValueOf(o, s, &options[i])
	}
}

// ValueOf is the value of one option. A change of a running job costs its restart; a start
// costs the same on any option, which does not count.
func ValueOf(o Objective, s Subject, x *allocate.Option) float64 {
	out := Outcome{Answer: x.Answer}
	if s.Job.Current != nil && !x.Keeps {
		out.Restart = s.Job.RestartSeconds + s.Hysteresis
	}
	return o.Value(s, out)
}
