package data

import "time"

// Job is one training job that wants a share of the cluster: an entry of
// jobs.yaml.
type Job struct {
	Name           string
	Model          string // path of its model.json, relative to the jobs file
	Remaining      Remaining
	Workers        IntRange
	PS             IntRange // zero value: what the measured modes allow
	Modes          []Mode   // empty: every mode the model knows
	GPUTypes       []string // empty: every type the model knows
	Batch          Batch
	Weight         float64       // 1 if not given
	Deadline       time.Duration // from now; 0 means none
	Current        *Current      // nil: not running
	RestartSeconds float64       // progress lost when its allocation changes
	Resources      Resources
	Template       Template
	Source         Source
}

// IntRange is an inclusive range; zero means not given.
type IntRange struct {
	Min int `yaml:"min"`
	Max int `yaml:"max"`
}

// Remaining is the work left; exactly one of its ways to say so is set.
type Remaining struct {
	Steps      float64 // optimizer steps at the initial batch
	TargetLoss float64 // with HasTarget
	HasTarget  bool
	Epochs     float64 // with Dataset
	Dataset    float64 // samples per epoch
	Seconds    float64 // at its current (else its minimum) allocation
}

// Current is what a job runs on now.
type Current struct {
	GPUType    string
	Mode       Mode
	Placement  Placement
	PS         int
	LocalBatch float64
	AccumSteps int
	Layout
	Nodes []string // node names, if known, parallel to Placement
}

// Resources is what one worker and one parameter server need beside the GPU.
type Resources struct {
	Worker Need `yaml:"worker"`
	PS     Need `yaml:"ps"`
}

// Need is CPU cores and bytes of memory; zero means nothing is reserved.
type Need struct {
	CPUs   float64
	Memory int64
}

// Template is what export writes around the allocation of a job.
type Template struct {
	Image     string            `yaml:"image"`
	Command   []string          `yaml:"command"`
	Env       map[string]string `yaml:"env"`
	Namespace string            `yaml:"namespace"`
	Partition string            `yaml:"partition"`
	Account   string            `yaml:"account"`
	TimeLimit string            `yaml:"time_limit"`
	Pod       map[string]any    `yaml:"pod"` // a Kubernetes pod template that the rest is filled into; nil for none
}
