package bayesopt

import "knee/data"

// History is the input of a decision.
type History struct {
	Candidates []data.Config
	Measured   []data.Measurement // finished trials, failed ones included
	Running    []data.Config      // running trials
}

// Suggestion is the configuration to measure next, or the decision to stop.
type Suggestion struct {
	Stop      bool
	Index     int // into Candidates
	Config    data.Config
	Expected  data.Estimate // objective in its natural unit (e.g. step time s, throughput samples/s)
	PFeasible float64       // probability that the trial gives a time
	Cost      float64       // expected US$ of the trial, 0 if prices are unknown
	Reason    string        // one sentence

	// Remeasure says that the candidate was measured before.
	Remeasure bool

	// Best is the index of the best candidate so far, −1 if none. With noise it
	// may differ from that of the best measurement.
	Best int

	// Choice is, with a [Target], the present best configuration where
	// Target.At holds.
	Choice data.Config

	// Better is the probability that something is better than the best by
	// [Options.TargetRegret]; 0 without a prediction.
	Better float64

	// Fired is the reason of the stopping rule under [Options.KeepGoing], which
	// goes on; empty if the rule did not fire.
	Fired string
}

// Strategy decides what to measure next, and why.
type Strategy interface {
	Next(h History) (Suggestion, error)
}
