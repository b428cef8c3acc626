package convergence

import (
	_ "embed" // for prior.json

	embedded "knee/fit/prior"
)

// prior is the prior of a training curve, learned from finished runs (TestLearn
// writes prior.json, with its provenance).
type prior struct {
	Provenance string `json:"provenance"`
	// Break is the probability that curves say nothing about when a target is
	// met, as before an unannounced cut of the learning rate.
	Break float64 `json:"break"`
	// Warmup is the probability that the learning rate rose from 0 at the begin of the run.
	Warmup float64 `json:"warmup"`
	// Schedule is the probability that a part of the loss falls with a learning rate that
	// decays to the planned end.
	Schedule float64 `json:"schedule"`
	// The gap from a target to the limit, as a share of the way from the first value to the
	// target, is log-normal beyond the median, and smaller ones are as likely.
	GapMedian float64 `json:"gap_median"`
	GapSD     float64 `json:"gap_sd"`
	WrongPlan float64 `json:"wrong_plan"` // probability that the planned length says nothing about the target
	HitSD     float64 `json:"hit_sd"`     // sd of ln of the steps to a target between runs of a job
}

//go:embed prior.json
var priorFile []byte

var learned = embedded.Embedded[prior](priorFile)

// beliefs returns the prior of the curve.
func (c *Curve) beliefs() prior {
	if c.known != nil { // set by tests that learn or leave a job out
		return *c.known
	}
	return learned()
}
