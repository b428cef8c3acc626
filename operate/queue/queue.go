package queue

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"knee/data"
)

// State is the state of a job.
type State string

// The states of a job that has not ended.
const (
	Pending  State = "pending"  // waits
	Running  State = "running"  // has its nodes
	Stopping State = "stopping" // some of its processes are left
)

// Job is one job of a scheduler.
type Job struct {
	ID        string            `json:"id"`   // the scheduler never reuses it
	Kind      string            `json:"kind"` // "job" of Slurm; Job, PyTorchJob, RayJob, TrainJob or Pod of Kubernetes
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	User      string            `json:"user,omitempty"`
	Account   string            `json:"account,omitempty"`
	Partition string            `json:"partition,omitempty"`
	Queue     string            `json:"queue,omitempty"` // QOS of Slurm, queue of Kueue
	Labels    map[string]string `json:"labels,omitempty"`

	State     State            `json:"state"`
	Reason    string           `json:"reason,omitempty"` // why it waits
	Held      bool             `json:"held"`             // does not start until it is released
	HeldByUs  bool             `json:"held_by_knee"`     // held by knee, and pending or stopping
	Nodes     []data.NodeShare `json:"nodes"`            // what it occupies
	GPUType   string           `json:"gpu_type,omitempty"`
	GPUTypes  []string         `json:"gpu_types,omitempty"` // types it can have; empty: any
	Usable    []string         `json:"-"`                   // nodes that it may use; nil: all
	Requested int              `json:"requested"`           // workers its owner asked for
	Workers   int              `json:"workers"`             // workers it has; if it waits, workers it asks for
	Most      int              `json:"most,omitempty"`      // most workers that the scheduler lets it have; 0: no limit

	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started"` // zero if it waits
	Priority  float64   `json:"priority"`
	Restarts  int       `json:"restarts"`
	Requeue   bool      `json:"requeue"`            // the scheduler may stop it and start it again
	Resizable bool      `json:"resizable"`          // it can be started with another number of workers
	InPlace   bool      `json:"in_place,omitempty"` // another scheduler decides when and where it runs, knee only its number of workers
	Fixed     string    `json:"fixed,omitempty"`    // why knee cannot change it; empty: it can
	Log       string    `json:"log,omitempty"`      // path of its output, empty if it is in no file

	Handle any `json:"-"` // the Scheduler's own record of the job
}

// Reservation reserves nodes from Start to End.
type Reservation struct {
	Name       string    `json:"name"`
	Start, End time.Time `json:"-"`
	Nodes      []string  `json:"nodes"`
}

// Snapshot is a queue at one point in time.
type Snapshot struct {
	Cluster      *data.Cluster
	Jobs         []Job // that have not ended, in the order of Sort
	Reservations []Reservation
	Limits       []Limit
	Parents      map[string]string // account → the account above it
	Warnings     []string
}

// Limit is how many GPUs, or running jobs, a set of jobs may have together.
type Limit struct {
	Name    string // for messages, "account vision"
	Tenant  string // whose quota it is; empty: planning ignores the limit, and changes beyond it are refused
	GPUType string // of the GPUs; empty: any
	Running bool   // Most counts running jobs, not GPUs
	Most    int
	Jobs    map[string]bool // their ids
}

// Used is how much of the limit the job id takes on nodes of a GPU type.
func (l Limit) Used(id, gpuType string, nodes []data.NodeShare) int {
	switch {
	case !l.Jobs[id] || len(nodes) == 0 || gpuType == "cpu":
		return 0
	case l.Running:
		return 1
	case l.GPUType != "" && l.GPUType != gpuType:
		return 0
	}
	return Workers(nodes)
}

// Find returns the job of an id, nil if there is none.
func (s *Snapshot) Find(id string) *Job {
	for i := range s.Jobs {
		if s.Jobs[i].ID == id {
			return &s.Jobs[i]
		}
	}
	return nil
}

// Sort sorts jobs by the time of submission, then by id.
func Sort(jobs []Job) {
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
}

// Scheduler is a queue to which plans can be applied. Every call ends, and may be
// repeated if it failed; none removes a job from the queue.
type Scheduler interface {
	// Read returns the queue as it is.
	Read(context.Context) (*Snapshot, error)
	// Log opens the output of a job: the file at path, or the scheduler's if path is
	// empty. A stream, which is no [io.Seeker], begins at since, rounded down to
	// seconds. The error is [fs.ErrNotExist] if there is no output.
	Log(ctx context.Context, j Job, path string, since time.Time) (io.ReadCloser, error)
	// Check returns why the scheduler cannot give the job these nodes, empty if
	// it can. It ignores whether they are free.
	Check(j Job, to []data.NodeShare) string
	// Hold keeps a waiting job from starting, and asks a running one to end its
	// processes and wait, held. It returns before they end. It fails if the job is
	// Pending in j but has started since.
	Hold(context.Context, Job) error
	// Start lets a waiting job start on these nodes; without nodes anywhere, at the size
	// its owner requested. A job with InPlace gets only the number of workers.
	Start(ctx context.Context, j Job, to []data.NodeShare) error
	// Ended returns how a job that has left the queue ended, and whether well.
	Ended(context.Context, Job) (well bool, how string)
}

// Command is a command that changes a job, for the audit log.
type Command struct {
	Job      string   `json:"job"`
	Name     string   `json:"name"`
	Command  []string `json:"command"`
	Answered bool     `json:"answered"` // false: it is about to be run
	Answer   string   `json:"answer,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// Audited logs a command, runs it and logs its answer. One that cannot be logged is not run.
func Audited(audit func(Command) error, c Command, run func() (answer string, err error)) error {
	if audit == nil {
		audit = func(Command) error { return nil }
	}
	if err := audit(c); err != nil {
		return err
	}
	answer, err := run()
	if c.Answered, c.Answer = true, answer; err != nil {
		c.Error = err.Error()
	}
	return errors.Join(err, audit(c))
}

// Workers adds up the workers of nodes.
func Workers(nodes []data.NodeShare) int { return data.PlacementOf(nodes).Workers() }
