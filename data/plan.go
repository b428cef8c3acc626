package data

// PlanVersion is the version of plan.json written, and the newest that can be
// read.
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
	Pause  Action = "pause" // it runs, and gets nothing in this plan
	Wait   Action = "wait"  // it does not run, and gets nothing in this plan
)

// Runs reports whether a job with the action runs by the plan.
func (a Action) Runs() bool { return a != Pause && a != Wait }

// Plan is the contents of plan.json: the allocation of every job, written by
// allocate and read by export.
type Plan struct {
	Version   int     `json:"version"`
	Objective string  `json:"objective"`
	Policy    string  `json:"policy"`
	Value     float64 `json:"value"` // of the objective; larger is better
	Bound     float64 `json:"bound"` // upper bound of Value over all plans with these options
	// RunningBound bounds the value of plans that run every job; it equals Bound
	// if not every job fits.
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

// PlannedJob is the allocation of one job.
type PlannedJob struct {
	Name       string      `json:"name"`
	ID         string      `json:"id,omitempty"`  // the scheduler's, if known
	Was        []NodeShare `json:"was,omitempty"` // placement when the plan was made, if known
	Action     Action      `json:"action"`
	GPUType    string      `json:"gpu_type,omitempty"`
	GPUName    string      `json:"gpu_name,omitempty"` // the scheduler's name of the type, if different
	Mode       Mode        `json:"mode,omitempty"`
	Workers    int         `json:"workers"`
	PS         int         `json:"ps"`
	Placement  []NodeShare `json:"placement"`
	LocalBatch float64     `json:"local_batch,omitempty"`
	AccumSteps int         `json:"accum_steps"`
	Layout
	Throughput   Estimate          `json:"throughput"`       // samples/s
	Goodput      Estimate          `json:"goodput"`          // samples/s at initial-batch worth
	Finish       Estimate          `json:"finish_s"`         // seconds from now; zero if it does not run
	Cost         Estimate          `json:"cost_usd"`         // to the end of the job
	Fits         *float64          `json:"p_fits,omitempty"` // probability that it fits in memory; nil if not known
	MarginalGain MarginalGain      `json:"marginal_gain"`
	InitialBatch float64           `json:"initial_batch,omitempty"` // samples; reference of efficiency and learning rate
	Extra        map[string]string `json:"extra,omitempty"`         // knobs of the study, as planned
	Worth        *Worth            `json:"worth,omitempty"`         // nil if it was not planned
	Warnings     []string          `json:"warnings,omitempty"`
	Extrapolated bool              `json:"extrapolated"` // the speed was predicted outside the measured range
	Reason       string            `json:"reason"`
	Range        IntRange          `json:"workers_range,omitzero"` // workers it may have, for schedulers that can change them during the run
	Resources    PlanNeeds         `json:"resources,omitzero"`
	Template     Template          `json:"template,omitzero"`
}

// Config is the configuration that the job is to run in.
func (j PlannedJob) Config() Config {
	placement := PlacementOf(j.Placement)
	return Config{Job: j.Name, GPUType: j.GPUType, Mode: j.Mode, Workers: j.Workers, PS: j.PS, Placement: placement, Nodes: len(placement),
		LocalBatch: j.LocalBatch, AccumSteps: j.AccumSteps, Layout: j.Layout, Extra: j.Extra}
}

// GPUPrice is the shadow price of a GPU type: the value of one more GPU, in
// units of Plan.Value.
type GPUPrice struct {
	GPUType string   `json:"gpu_type"`
	PerGPU  float64  `json:"per_gpu"`
	OneMore *float64 `json:"one_more,omitempty"` // gain of solving with one more, if requested
	OneLess *float64 `json:"one_less,omitempty"` // loss of solving with one less
}

// Worth compares a job's value with the price of its GPUs, in units of the
// objective's terms.
type Worth struct {
	Value   float64 `json:"value"`   // of the best option at the prices, minus that of pausing
	Cost    float64 `json:"cost"`    // of that option's GPUs at the prices
	Surplus float64 `json:"surplus"` // Value − Cost; below zero, other jobs gain more from its GPUs
}

// PlanNeeds is Resources in plan.json: cores and bytes.
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

// PlacementOf is the workers per node, without nodes that have only servers.
func PlacementOf(nodes []NodeShare) (p Placement) {
	for _, s := range nodes {
		if s.Workers > 0 {
			p = append(p, s.Workers)
		}
	}
	return p
}

// NodeShare is the workers and servers of a job on one node.
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

// Utilization is the GPUs that a plan uses and those of the cluster.
type Utilization struct {
	GPUsUsed  int `json:"gpus_used"`
	GPUsTotal int `json:"gpus_total"`
}
