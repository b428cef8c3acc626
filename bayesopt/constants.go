package bayesopt

// Constants are the numbers of the guided strategy that no theory gives. They
// are learned on recorded tables by bayesopt/replay/learn, which leaves out the
// kind of table that it scores; docs/benchmarks-search.md has the scores.
type Constants struct {
	// FailureCost is what running out of memory costs, as a fraction of the
	// objective: the gain that a trial of the budget is given up for, however
	// soon the failed one ended. It counts once a trial has run out of memory.
	FailureCost float64
	// UsualFits is the share of a space that is expected to fit before any
	// trial.
	UsualFits float64
	// LengthSD is the prior standard deviation of every ln ℓ. It is wide, so
	// that some columns of a draw hardly matter: the columns of a table repeat
	// each other, and which of them the time follows differs from table to
	// table.
	LengthSD float64
	// RecordTrust is how many trials the expectation is worth that predictions
	// are as uncertain as they claim.
	RecordTrust float64
	// StopChance is the probability of something better by the target at which
	// a search ends.
	StopChance float64
}

// LearnedConstants returns what bayesopt/replay/learn -seeds 1 -layouts 3 -every
// 8 says of the tables of CherryPick, Scout, Lynceus, vTrain and Rubick: of five
// constants the last two changed, the others are as they were set by hand.
func LearnedConstants() Constants {
	return Constants{FailureCost: 0.02, UsualFits: 0.95, LengthSD: 1.3, RecordTrust: 2, StopChance: 0.07}
}

// softness is the standard deviation of the headroom of memory that no feature
// shows, in doublings: what is left over by TestMemorySlopes.
const softness = 0.5

// constantRatio is the prior variance of the unknown constant level relative to
// that of the Matérn part: the responses are centred before they are modelled,
// so that it only has to absorb how far the average of a few measurements is
// from the average of the space.
const constantRatio = 0.3
