package bayesopt

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// Objective names what a search improves.
type Objective string

// The objectives of a study.
const (
	Throughput   Objective = "throughput"     // maximise samples/s
	Goodput      Objective = "goodput"        // maximise samples/s at initial-batch worth
	StepTime     Objective = "step_time"      // minimise seconds per step
	CostToTarget Objective = "cost_to_target" // minimise price ÷ goodput
	Accuracy     Objective = "accuracy"       // know the step time well everywhere
)

// Objectives lists the objectives in the order they are documented.
func Objectives() []Objective {
	return []Objective{Throughput, Goodput, StepTime, CostToTarget, Accuracy}
}

// ParseObjective returns the objective of a study file: what it maximises or
// minimises, or accuracy where it covers the space. An empty objective is
// throughput.
func ParseObjective(o data.Objective) (Objective, error) {
	named := Objective(o.Maximize + o.Minimize)
	switch {
	case o.Cover:
		return Accuracy, nil
	case named == "":
		return Throughput, nil
	case named != Accuracy && slices.Contains(Objectives(), named) && named.Maximised() == (o.Maximize != ""):
		return named, nil
	}
	return "", &data.InputError{Source: data.Source{Column: "objective"}, Found: fmt.Sprintf("maximize %q, minimize %q", o.Maximize, o.Minimize),
		Want: "maximize: throughput or goodput, minimize: step_time or cost_to_target, or accuracy"}
}

// Maximised reports whether larger values of the objective are better.
func (o Objective) Maximised() bool { return o == Throughput || o == Goodput }

// Options configures a strategy. The zero value maximises throughput.
type Options struct {
	Objective Objective // what to improve; empty means Throughput

	// Price returns the US$ per hour of a whole configuration. Nil, or a
	// result that is not positive, means not known. CostToTarget needs it.
	Price func(data.Config) float64

	// Efficiency returns the statistical efficiency (0, 1] of training at a
	// global batch. Nil means 1 for every batch.
	Efficiency func(globalBatch float64) float64

	// Work is the number of samples, at initial-batch worth, that the costs of
	// CostToTarget refer to; 0 means one sample. Deadline is how many seconds
	// it may take, 0 for no limit: what takes longer is not wanted.
	Work, Deadline float64

	// JobTime says that measurements hold the time of the whole job in place
	// of that of a step, as recorded tables do. The batch is then a knob like
	// any other, and Efficiency and Work play no part.
	JobTime bool

	Forms  []MeanForm  // parametric forms of ln step time that compete as its prior mean
	Memory MemoryModel // of what fits; what it does not speak of is left to a classifier. May be nil
	Target *Target     // asks for the best of a part of the space, nil for all of it

	Seed int64 // decides ties and draws

	// Noisy says that repeated measurements scatter by several per cent. The
	// best so far is then the best posterior mean, and trials are repeated
	// where that decides, but for Once.
	Noisy, Once bool

	// Trials is the budget of trials, failed ones and running ones included; 0
	// means not known. Of a known budget at most a quarter goes into repeats.
	Trials int

	// TargetRegret is how much worse than the best the result may be, as a
	// fraction of the objective: the search ends when something better by more
	// is improbable. 0 means 0.05.
	TargetRegret float64

	// Constants are those of the guided strategy; nil means the learned ones.
	Constants *Constants

	// KeepGoing goes on when the stopping rule fires, and says so in
	// [Suggestion.Fired], until the candidates are exhausted.
	KeepGoing bool

	// TrialSeconds is the expected duration of a trial until one has been
	// measured; 0 means 60.
	TrialSeconds float64
}

// Validate fills in defaults and refuses what cannot work.
func (o Options) Validate() (Options, error) {
	if o.Objective == "" {
		o.Objective = Throughput
	}
	switch {
	case !slices.Contains(Objectives(), o.Objective):
		return o, fmt.Errorf("objective %q is unknown; want one of %v", o.Objective, Objectives())
	case o.Objective == CostToTarget && o.Price == nil:
		return o, fmt.Errorf("objective cost_to_target needs prices; want price_per_hour for every gpu type")
	case o.Trials < 0:
		return o, fmt.Errorf("budget of trials: found %d, want 0 (not known) or more", o.Trials)
	case !(o.TargetRegret >= 0 && o.TargetRegret < 1):
		return o, fmt.Errorf("target regret: found %v, want 0 (default) to less than 1", o.TargetRegret)
	}
	for what, v := range map[string]float64{"work": o.Work, "deadline": o.Deadline, "trial seconds": o.TrialSeconds} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return o, fmt.Errorf("%s: found %v, want 0 (default) or more", what, v)
		}
	}
	if o.Constants == nil {
		learned := LearnedConstants()
		o.Constants = &learned
	}
	for _, d := range []struct {
		value     *float64
		otherwise float64
	}{{&o.TargetRegret, 0.05}, {&o.Work, 1}, {&o.TrialSeconds, 60}} {
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	return o, o.Target.check(o)
}
