// Package prior holds the priors of the speed model. The program in
// fit/prior/learn writes speed.json and its provenance: values set by hand
// (start.go), with scales adjusted as far as measured jobs agree.
package prior

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"
)

// Coordinate is the normal prior of a parameter over jobs, in the solver's coordinates.
type Coordinate struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // over jobs, GPU types included
	// NVLink is added to Mean if the GPUs of a node are connected by NVLink.
	NVLink float64 `json:"nvlink,omitempty"`
	// Own is [Speed.Own] for the coordinates of GPU types; not in the file.
	Own float64 `json:"-"`
}

// Kernel holds the scales of the Gaussian process on a form's residuals of ln
// step time. Amplitudes are standard deviations; lengths are in units of the
// natural logarithm.
type Kernel struct {
	Process    float64 `json:"process"`     // amplitude of each part of the process
	Length     float64 `json:"length"`      // length over batches, workers, servers, nodes and their width
	Knobs      float64 `json:"knobs"`       // amplitude over all dimensions together, if the study has knobs
	Layouts    float64 `json:"layouts"`     // the same under the layout form
	KnobLength float64 `json:"knob_length"` // length over all dimensions together
	Tiers      float64 `json:"tiers"`       // of ln communication, per factor of e beyond the workers measured
	Untried    float64 `json:"untried"`     // of ln step time, per factor of e of a part of the layout, or servers, measured at one value; per word
	Noise      float64 `json:"noise"`       // sd of a configuration, of a run of it, and of a measured compute time
}

// Speed is the prior of a speed model.
type Speed struct {
	Provenance []string                         `json:"provenance"`
	Forms      map[string]map[string]Coordinate `json:"forms"` // by form and coordinate
	Kernel     Kernel                           `json:"kernel"`
	// Launches is the prior of ln of the seconds in which the operations of a
	// step are launched.
	Launches Coordinate `json:"launches"`
	// Scatter is the sd, over jobs, of ln of the factors on the amplitude of
	// the process, the noise, and each knob's influence.
	Scatter float64 `json:"scatter"`
	// Own is the share of a coordinate's variance over jobs that is specific to each GPU
	// type of a job, and to each job of a cluster.
	Own float64 `json:"own"`
	// Shared is the prior odds that all workers share what their input comes
	// from, which may then limit them; that the workers of a node do is twice
	// as likely.
	Shared float64 `json:"shared"`
	// Disturbed is the prior odds that a measurement is a gross error.
	Disturbed float64 `json:"disturbed"`
	// Tail is the number of degrees of freedom of a new run's t distribution.
	Tail float64 `json:"tail"`
}

//go:embed speed.json
var speedJSON []byte

// Default returns the learned prior.
var Default = Embedded[*Speed](speedJSON)

// Fingerprint identifies the numbers of the learned prior: models that were fitted
// under another one are fitted again when they are read.
var Fingerprint = sync.OnceValue(func() string {
	numbers := *Default()
	numbers.Provenance = nil
	h := fnv.New32a()
	if err := json.NewEncoder(h).Encode(numbers); err != nil {
		panic(fmt.Sprintf("embedded prior: %v", err)) // a programmer error
	}
	return fmt.Sprintf("%08x", h.Sum32())
})

// Embedded returns a function that decodes a JSON text of the program, once.
func Embedded[T any](text []byte) func() T {
	return sync.OnceValue(func() (v T) {
		if err := json.Unmarshal(text, &v); err != nil {
			panic(fmt.Sprintf("embedded prior: %v", err)) // a programmer error
		}
		return v
	})
}
