// Package prior holds what measured jobs say of jobs never seen: the numbers
// that fit/speed starts from. They are learned by the program in
// fit/prior/learn, which writes speed.json and says in it what from, from
// starting values set by hand (start.json there).
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
	SD   float64 `json:"sd"`   // over jobs, GPU types included
	Type float64 `json:"type"` // between GPU types of one job, at most SD
	// NVLink is added to Mean where the GPUs of a node are joined by it.
	NVLink float64 `json:"nvlink,omitempty"`
}

// Kernel holds the scales of the Gaussian process on what a form leaves over
// of ln step time. Amplitudes are standard deviations, lengths are in units of
// the natural logarithm.
type Kernel struct {
	Batch       float64 `json:"batch"`        // amplitude over batches
	BatchLength float64 `json:"batch_length"` //
	SameBatch   float64 `json:"same_batch"`   // amplitude of what belongs to one batch alone
	Place       float64 `json:"place"`        // amplitude over placements
	PlaceBatch  float64 `json:"place_batch"`  // amplitude over placements and batches together
	Workers     float64 `json:"workers"`      // length over workers, and over servers
	Nodes       float64 `json:"nodes"`        // length over nodes, and over workers on the widest
	// Slopes: sds of the powers with which step time grows, beyond the form,
	// with workers, servers and batch (from one sample on, and below).
	// Micro-steps repeat each other. Like all amplitudes they are larger in jobs that the form
	// fits badly.
	SlopeWorkers float64 `json:"slope_workers"`
	SlopeServers float64 `json:"slope_servers"`
	SlopeBatch   float64 `json:"slope_batch"`
	SlopeSplit   float64 `json:"slope_split"`
	Knobs        float64 `json:"knobs"`       // amplitude over everything together, where the study has knobs of its own
	Layouts      float64 `json:"layouts"`     // the same where models are spread by layouts, which the form knows
	KnobLength   float64 `json:"knob_length"` // length over one knob of a usual influence
	KnobAll      float64 `json:"knob_all"`    // length over batch, workers, nodes and accumulation in that part
	Compute      float64 `json:"compute"`     // amplitude of ln compute time over batches
	Noise        float64 `json:"noise"`       // of one configuration
	Run          float64 `json:"run"`         // between runs of one configuration
	Timers       float64 `json:"timers"`      // of measured compute times
	TypeShare    float64 `json:"type_share"`  // correlation between GPU types
}

// Speed is the prior of a speed model.
type Speed struct {
	Provenance []string                         `json:"provenance"`
	Forms      map[string]map[string]Coordinate `json:"forms"` // by form and coordinate
	Kernel     Kernel                           `json:"kernel"`
	// Scatter is the sd, over jobs, of the logarithm of the factor by which
	// all amplitudes of the process are larger or smaller; NoiseScatter that of
	// a factor on the noise, KnobScatter of one on each knob's influence.
	Scatter      float64 `json:"scatter"`
	NoiseScatter float64 `json:"noise_scatter"`
	KnobScatter  float64 `json:"knob_scatter"`
	// ClusterShare is the share of the variance of a link's coordinates over
	// jobs that jobs of one cluster have in common.
	ClusterShare float64 `json:"cluster_share"`
	// Limits is how likely Amdahl's law and linear scaling are together, relative
	// to the whole form.
	Limits float64 `json:"limits"`
	// Caution is a factor on the width of intervals of ln step time, for jobs
	// unlike those that the prior was learned from: that at which intervals hold
	// nine in ten rows of datasets that were left out of the learning.
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
