package convergence

import (
	_ "embed" // for prior.json
	"encoding/json"
	"sync"
)

// prior is what is believed before a record is looked at, learned from
// finished runs of others (TestLearn writes prior.json, which says of which).
type prior struct {
	Provenance string `json:"provenance"`
	// Break is the chance that a cut of the learning rate lies ahead of a record
	// without cuts, and nobody told of it.
	Break float64 `json:"break"`
	// Gap is between a target and what training levels off at, as a part of the
	// way from the first value to the target: its median and the sd of its
	// logarithm.
	GapMedian float64 `json:"gap_median"`
	GapSD     float64 `json:"gap_sd"`
	Noise     float64 `json:"noise"`  // sd of a record, as a part of its range
	Misfit    float64 `json:"misfit"` // of the nearest form to a record, likewise
	// Early is how far above the level it has got to since, as a part of its
	// range, a point of the record counts half.
	Early     float64 `json:"early"`
	WrongPlan float64 `json:"wrong_plan"` // chance that a planned length says nothing about the target
	// Of a run relative to a finished one of the same job in equal units of
	// progress, standard deviations of the logarithm of its pace and of its
	// distance from the end, of where it ends as a part of the range, and of the
	// logarithm of when it gets to a target.
	PaceSD    float64 `json:"pace_sd"`
	StretchSD float64 `json:"stretch_sd"`
	EndSD     float64 `json:"end_sd"`
	HitSD     float64 `json:"hit_sd"`
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
