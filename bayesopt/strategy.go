package bayesopt

import "knee/data"

// History is what a strategy may know when it decides.
type History struct {
	Candidates []data.Config
	Measured   []data.Measurement // finished trials, failed ones included
	Running    []data.Config      // trials in flight
}

// Suggestion is the configuration to measure next, or the decision to stop.
type Suggestion struct {
	Stop      bool
	Index     int // into Candidates
	Config    data.Config
	Expected  data.Estimate // of the objective's response in natural units (e.g. step time s, or throughput samples/s)
	PFeasible float64       // probability that the trial yields a time
	Cost      float64       // expected US$ of the trial, 0 if no price is known
	Reason    string        // one sentence for people

	// Remeasure: the candidate was measured before, and is measured again.
	Remeasure bool

	// Best is the candidate taken for the best so far, −1 if none is. With
	// noise it need not be the one of the best single measurement.
	Best int

	// Choice is, with a [Target], what would be chosen now where the best is
	// wanted.
	Choice data.Config

	// Better is the probability that something is better than the best by
	// [Options.TargetRegret], 0 where nothing is predicted.
	Better float64

	// Fired is why the stopping rule would have ended the search, empty if it
	// would not. It is set instead of Stop under [Options.KeepGoing].
	Fired string
}

// Strategy decides what to measure next, and why.
type Strategy interface {
	Next(h History) (Suggestion, error)
}
