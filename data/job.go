package data

import "time"

// Job is one training job that wants a share of the cluster: an entry of
// jobs.yaml.
type Job struct {
	Name           string
	ID             string    // what the scheduler calls it: a job id of Slurm, a uid of Kubernetes; empty: not said
	Namespace      string    // of Kubernetes; empty: not said
	User           string    // who submitted it; empty: not said
	Model          string    // path of its model.json, relative to the jobs file; empty: not planned, it keeps what it runs on
	Tenant         string    // who it belongs to; empty: not said
	Submitted      time.Time // zero: not said
	Requested      int       // workers its owner asked for; 0: not said
	Priority       float64   // larger is more urgent; the owner's to give, 0 if not
	Remaining      Remaining
	Workers        IntRange
	PS             IntRange // zero value: what the measured modes allow
	Modes          []Mode   // empty: every mode the model knows
	GPUTypes       []string // empty: every type the model knows
	Batch          Batch
	Weight         float64       // 1 if not given
	Deadline       time.Duration // from now; 0 means none
	DeadlineAt     time.Time     // the same as a point in time; at most one of the two is set
	History        *History      // nil: not said
	Current        *Current      // nil: not running
	RestartSeconds float64       // progress lost when its allocation changes
	RestartGiven   bool          // RestartSeconds was said, if 0
	Resources      Resources
	Template       Template
	Source         Source
}

// JobsFile is the contents of jobs.yaml.
type JobsFile struct {
	Tenants []Tenant
	Jobs    []Job
}

// Tenant is who jobs belong to: an entry of tenants.
type Tenant struct {
	Name   string
	Weight float64        // its share beside other tenants of the same parent; 1 if not given
	Quota  map[string]int // most worker slots by GPU type
	Parent string         // empty: none
}

// History is what a scheduler's accounts know of a job. What is nil they do
// not know.
type History struct {
	GPUSeconds *float64           // attained service: worker slots held × seconds
	Seconds    *float64           // in which it held workers
	Progress   *float64           // share of the declared work that is done, 0 to 1
	Restarts   *int               // changes of allocation
	ByType     map[string]float64 // GPU-seconds by GPU type
}

// Due returns the seconds from now in which the job should end, 0 if it has no
// deadline; a deadline that has passed is a second away.
func (j *Job) Due(now time.Time) float64 {
	if j.DeadlineAt.IsZero() {
		return j.Deadline.Seconds()
	}
	return max(j.DeadlineAt.Sub(now).Seconds(), 1)
}

// States reports whether the job says what a field of jobs.yaml holds, such as
// "requested" or "history.gpu_seconds". It panics if there is no such field.
func (j *Job) States(field string) bool {
	h := j.History
	if h == nil {
		h = &History{}
	}
	said, ok := map[string]bool{
		"tenant": j.Tenant != "", "submitted": !j.Submitted.IsZero(), "requested": j.Requested > 0,
		"remaining": j.Remaining != Remaining{}, "history.gpu_seconds": h.GPUSeconds != nil, "history.seconds": h.Seconds != nil,
		"history.progress": h.Progress != nil, "history.restarts": h.Restarts != nil, "history.by_type": h.ByType != nil,
	}[field]
	if !ok {
		panic("data: a job has no field " + field)
	}
	return said
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
