package data

// PlanVersion is the version of plan.json this package writes, and the
// newest it reads.
const PlanVersion = 1

// Action is what a plan does to a job.
type Action string

// The actions of a plan, relative to what runs now.
const (
	Keep   Action = "keep"
	Start  Action = "start"
	Grow   Action = "grow"
	Shrink Action = "shrink"
	Move   Action = "move"  // same size, other nodes, GPU type, mode or ps
	Pause  Action = "pause" // gets nothing in this plan
)

// Plan is who gets what: the contents of plan.json, written by allocate and
// read by export.
type Plan struct {
	Version   int     `json:"version"`
	Objective string  `json:"objective"`
	Policy    string  `json:"policy"`
	Value     float64 `json:"value"` // of the objective; larger is better
	Bound     float64 `json:"bound"` // no plan of these options can be better than this
	// RunningBound is what no plan that runs every job can exceed, and equal to
	// Bound where not every job fits.
	RunningBound float64      `json:"running_bound"`
	Gap          float64      `json:"gap"` // (b − value) / |b|, b being the running bound if every job runs, else the bound
	Seed         int64        `json:"seed"`
	Inputs       []Input      `json:"inputs"`
	Jobs         []PlannedJob `json:"jobs"`
	Utilization  Utilization  `json:"utilization"`
	Prices       []GPUPrice   `json:"prices,omitempty"`
	Warnings     []string     `json:"warnings"`
}

// Input is a file a plan was made from.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// PlannedJob is the part of a plan that concerns one job.
type PlannedJob struct {
	Name       string      `json:"name"`
	ID         string      `json:"id,omitempty"`  // what the scheduler calls it, if known
	Was        []NodeShare `json:"was,omitempty"` // where it stood when the plan was made, if that is known
	Action     Action      `json:"action"`
	GPUType    string      `json:"gpu_type,omitempty"`
	GPUName    string      `json:"gpu_name,omitempty"` // what the scheduler calls the type, if not that
	Mode       Mode        `json:"mode,omitempty"`
	Workers    int         `json:"workers"`
	PS         int         `json:"ps"`
	Placement  []NodeShare `json:"placement"`
	LocalBatch float64     `json:"local_batch,omitempty"`
	AccumSteps int         `json:"accum_steps"`
	Layout
	Throughput   Estimate          `json:"throughput"` // samples/s
	Goodput      Estimate          `json:"goodput"`    // samples/s at initial-batch worth
	Finish       Estimate          `json:"finish_s"`   // seconds from now; zero if paused
	Cost         Estimate          `json:"cost_usd"`   // to the end of the job
	MarginalGain MarginalGain      `json:"marginal_gain"`
	InitialBatch float64           `json:"initial_batch,omitempty"` // samples; the batch that efficiency and learning rate refer to
	Extra        map[string]string `json:"extra,omitempty"`         // knobs of the study, as planned
	Worth        *Worth            `json:"worth,omitempty"`         // nil if it was not planned
	Warnings     []string          `json:"warnings,omitempty"`
	Extrapolated bool              `json:"extrapolated"` // the speed was predicted outside the measured range
	Reason       string            `json:"reason"`
	Range        *PlanRange        `json:"workers_range,omitempty"`
	Resources    *PlanNeeds        `json:"resources,omitempty"`
	Template     *Template         `json:"template,omitempty"`
}

// GPUPrice is what one more GPU of a type is worth to the plan, in units of its
// value: the shadow price of the type.
type GPUPrice struct {
	GPUType string   `json:"gpu_type"`
	PerGPU  float64  `json:"per_gpu"`
	OneMore *float64 `json:"one_more,omitempty"` // what solving with one more gains, if that was asked for
	OneLess *float64 `json:"one_less,omitempty"` // what solving with one less loses
}

// Worth says whether a job is worth its place at the prices of the plan, in
// units of what the objective adds up.
type Worth struct {
	Value   float64 `json:"value"`   // of the option that is best at the prices, over getting nothing
	Cost    float64 `json:"cost"`    // of what that option takes, at the prices
	Surplus float64 `json:"surplus"` // Value − Cost; below zero others gain more from its place
}

// PlanRange is the workers a job may have, for schedulers that can change
// them while it runs; Max is 0 if there is no limit.
type PlanRange struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// PlanNeeds is Resources as plan.json spells it: cores and bytes.
type PlanNeeds struct {
	WorkerCPUs   float64 `json:"worker_cpus,omitempty"`
	WorkerMemory int64   `json:"worker_memory,omitempty"`
	PSCPUs       float64 `json:"ps_cpus,omitempty"`
	PSMemory     int64   `json:"ps_memory,omitempty"`
}

// SameNodes reports whether two lists give every node the same workers.
func SameNodes(a, b []NodeShare) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s.Node] += s.Workers
	}
	for _, s := range b {
		count[s.Node] -= s.Workers
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// NodeShare is what a job gets on one node.
type NodeShare struct {
	Node    string `json:"node"`
	Workers int    `json:"workers"`
	PS      int    `json:"ps"`
}

// MarginalGain is the gain in the objective per worker: of the last step of
// workers the job got, and of the next it would get.
type MarginalGain struct {
	Last float64 `json:"last"`
	Next float64 `json:"next"`
}

// Utilization is how much of the cluster a plan uses.
type Utilization struct {
	GPUsUsed  int `json:"gpus_used"`
	GPUsTotal int `json:"gpus_total"`
}
