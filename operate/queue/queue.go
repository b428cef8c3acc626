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
	ID        string            `json:"id"`   // never used again by the scheduler
	Kind      string            `json:"kind"` // "job" of Slurm; Job, PyTorchJob, TrainJob or Pod of Kubernetes
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
	HeldByUs  bool             `json:"held_by_knee"`     // by knee, and it is pending or stopping
	Nodes     []data.NodeShare `json:"nodes"`            // what it occupies
	GPUType   string           `json:"gpu_type,omitempty"`
	GPUTypes  []string         `json:"gpu_types,omitempty"` // it can have; empty: any
	Requested int              `json:"requested"`           // workers its owner asked for
	Workers   int              `json:"workers"`             // workers it has, or asks for now
	Most      int              `json:"most,omitempty"`      // workers that the scheduler lets it have; 0: no limit

	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started"` // zero if it waits
	Priority  float64   `json:"priority"`
	Restarts  int       `json:"restarts"`
	Requeue   bool      `json:"requeue"`            // the scheduler may stop it and start it again
	Resizable bool      `json:"resizable"`          // its program takes any number of workers that it is started with
	InPlace   bool      `json:"in_place,omitempty"` // another decides when and where it runs, and knee how many workers it has
	Fixed     string    `json:"fixed,omitempty"`    // why knee cannot change it, if so
	Log       string    `json:"log,omitempty"`      // file of its output, if there is one

	Handle any `json:"-"` // what else the scheduler that has read it needs to change it
}

// Reservation is a time in which nodes are reserved.
type Reservation struct {
	Name       string    `json:"name"`
	Start, End time.Time `json:"-"`
	Nodes      []string  `json:"nodes"`
}

// Snapshot is a queue at one point in time.
type Snapshot struct {
	Cluster      *data.Cluster
	Jobs         []Job // that have not ended, by Sort
	Reservations []Reservation
	Limits       []Limit
	Parents      map[string]string // of accounts, by their names
	Warnings     []string
}

// Limit is how many GPUs, or jobs that run, some jobs may have together.
type Limit struct {
	Name    string // for people, "account vision"
	Tenant  string // whose quota it is; empty: a plan does not know it, and what goes beyond it is not applied
	GPUType string // of the GPUs; empty: any
	Running bool   // Most is a number of jobs that run
	Most    int
	Jobs    map[string]bool // their ids
}

// Used is how much of a limit a job takes on nodes of a GPU type.
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

// Sort brings jobs into the order in which they were submitted.
func Sort(jobs []Job) {
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
}

// Scheduler is a queue to which plans can be applied. Every method may fail and be
// called again; none removes a job from the queue.
type Scheduler interface {
	// Read returns the queue as it is.
	Read(context.Context) (*Snapshot, error)
	// Log opens what a job has printed, from the file of path if that is not
	// empty. What is no file, and so no [io.Seeker], begins with the whole second
	// of since. The error is [fs.ErrNotExist] if there is nothing.
	Log(ctx context.Context, j Job, path string, since time.Time) (io.ReadCloser, error)
	// Check returns why the scheduler cannot give the job these nodes, empty if
	// it can. It does not check that they are free.
	Check(j Job, to []data.NodeShare) string
	// Hold keeps a waiting job from starting, and asks a running one to end its
	// processes and wait, held. It does not wait for them to end. It fails if a
	// job that waits in j has started meanwhile.
	Hold(context.Context, Job) error
	// Start lets a waiting job start on these nodes; without nodes anywhere, at
	// the size its owner requested. One that is changed in place gets as many
	// workers, and nothing else.
	Start(ctx context.Context, j Job, to []data.NodeShare) error
	// Ended says how a job that has left the queue ended, and whether well.
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

// Audited runs a command between its line of the audit log and that of its
// answer. One that cannot be written down is not run.
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
func Workers(nodes []data.NodeShare) int {
	n := 0
	for _, s := range nodes {
		n += s.Workers
	}
	return n
}
