package convergence

import (
	_ "embed" // for prior.json
	"encoding/json"
	"sync"
)

// prior is the prior of a training curve, learned from finished runs of others
// (TestLearn writes prior.json, with its provenance).
type prior struct {
	Provenance string `json:"provenance"`
	// Break is the probability that curves say nothing about when a target is met,
	// as before an unannounced cut of the learning rate.
	Break float64 `json:"break"`
	// Gap is between a target and what training levels off at, as a part of the
	// way from the first value to the target: its median and the sd of its
	// logarithm.
	GapMedian float64 `json:"gap_median"`
	GapSD     float64 `json:"gap_sd"`
	WrongPlan float64 `json:"wrong_plan"` // chance that a planned length says nothing about the target
	HitSD     float64 `json:"hit_sd"`     // of the logarithm of when neighbouring runs of a job get to a target
}

//go:embed prior.json
var priorFile []byte

// learned returns the prior of this package.
var learned = sync.OnceValue(func() prior {
	var p prior
	if err := json.Unmarshal(priorFile, &p); err != nil {
		panic("convergence: prior.json: " + err.Error()) // embedded, so a mistake of ours
	}
	return p
})

// beliefs returns the prior that answers of c rest on.
func (c *Curve) beliefs() prior {
	if c.known != nil { // of a test that learns, or leaves a job out
		return *c.known
	}
	return learned()
}
