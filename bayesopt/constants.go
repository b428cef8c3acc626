package bayesopt

// Constants are the numbers of the guided strategy without a theoretical value.
// The programs that learn them score them on the kind of table left out;
// docs/benchmarks-search.md has the scores.
type Constants struct {
	// FailureCost is the cost of running out of memory, as a fraction of the
	// objective: the value of the trial that it uses up, however short. It
	// counts once a trial has run out of memory or time.
	FailureCost float64
	// UsualFits is the expected share of a space that fits in memory, before
	// any trial.
	UsualFits float64
	// LengthSD is the prior standard deviation of every ln ℓ. It is large, so
	// that in some draws some columns hardly matter: columns of a table are
	// redundant, and which of them determine the time differs between tables.
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
	// StopChance is the probability of something better by the target below
	// which a search ends: the largest at which nine of ten searches that end by
	// it are right on every kind of table.
	StopChance float64
}

// LearnedConstants returns the results of BenchmarkTails (TailFreedom),
// BenchmarkClaims (StopChance), BenchmarkExchange (RampShare) and, before these, BenchmarkLearn, which changed
// RecordTrust and kept the starting values of the first three.
func LearnedConstants() Constants {
	return Constants{FailureCost: 0.02, UsualFits: 0.95, LengthSD: 1.3, RampShare: 0.8, RecordTrust: 2, TailFreedom: 4, StopChance: 0.01}
}

// softness is the standard deviation, in doublings, of the memory headroom that
// features do not explain, from TestMemorySlopes.
const softness = 0.5
