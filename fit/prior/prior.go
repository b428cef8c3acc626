// Package prior holds the priors of the speed model. The program in
// fit/prior/learn writes speed.json with its provenance: values set by hand
// (start.go there), moved as far as measured jobs of others agree.
package prior

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// Coordinate is what is known beforehand of one parameter of a form, in the
// coordinates of the solver: a normal distribution over jobs.
type Coordinate struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // over jobs, GPU types included
	// NVLink is added to Mean where the GPUs of a node are joined by it.
	NVLink float64 `json:"nvlink,omitempty"`
	// Own is the share of the variance that is of each GPU type of a job by
	// itself. It is not part of the file: see [Speed.Own].
	Own float64 `json:"-"`
}

// Kernel holds the scales of the Gaussian process on what a form leaves over
// of ln step time. Amplitudes are standard deviations, lengths are in units of
// the natural logarithm.
type Kernel struct {
	Process    float64 `json:"process"`     // amplitude of each part of the process, powers of workers and batch included
	Length     float64 `json:"length"`      // over batches, workers, servers, nodes and their width
	Knobs      float64 `json:"knobs"`       // amplitude over everything together, where the study has knobs of its own
	Layouts    float64 `json:"layouts"`     // the same where models are spread by layouts, which the form knows
	KnobLength float64 `json:"knob_length"` // length over everything together
	Noise      float64 `json:"noise"`       // of a configuration, of a run of it, and of a measured compute time
}

// Speed is the prior of a speed model.
type Speed struct {
	Provenance []string                         `json:"provenance"`
	Forms      map[string]map[string]Coordinate `json:"forms"` // by form and coordinate
	Kernel     Kernel                           `json:"kernel"`
	// Scatter is the sd, over jobs, of the logarithm of the factors by which all
	// amplitudes of the process, the noise, and each knob's influence are larger
	// or smaller.
	Scatter float64 `json:"scatter"`
	// Own is the share of the variance over jobs that is of each GPU type of a
	// job by itself, and of each job of a cluster; the rest they have in common.
	Own float64 `json:"own"`
	// Caution is a factor on the width of intervals of ln step time, for jobs
	// unlike those that the prior was learned from.
	Caution float64 `json:"caution"`
	// Tail is the degrees of freedom of the t distribution of a new run.
	Tail float64 `json:"tail"`
}

//go:embed speed.json
var speedJSON []byte

// Default returns the learned prior.
var Default = sync.OnceValue(func() *Speed {
	s, err := Decode(speedJSON)
	if err != nil {
		panic(err) // the embedded file is part of the program
	}
	return s
})

// Decode reads a prior.
func Decode(text []byte) (*Speed, error) {
	var s Speed
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read prior: %w", err)
	}
	return &s, nil
}
