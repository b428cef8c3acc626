// Package queuetest is a scheduler in memory, for tests: a held job leaves its
// nodes some reads later and waits, a waiting one starts where GPUs are free, and
// faults can be injected into every call.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"knee/data"
	"knee/operate/queue"
)

// Crashed as an error of Fault makes the method panic with it, as if knee were killed there.
type Crashed struct{ At string }

// Fake is a [queue.Scheduler] in memory. Every Read is one step of its time.
type Fake struct {
	Cluster data.Cluster
	Jobs    []*Job
	Logs    map[string]string // by job id
	Calls   []string          // Hold and Start, in order: "hold 3", "start 3 n1×2"

	// Fault, if not nil, is called before and after the effect of every call, with
	// "before hold", "after start", "read" and so on. The call returns its error, or
	// panics if it is a Crashed.
	Fault func(at string) error
	// Leave is how many steps a job takes to leave its nodes.
	Leave int
	// Now gives the start time of jobs; nil: they have none.
	Now func() time.Time
	// Failed is how jobs that leave the queue have ended; empty: well.
	Failed string
	// Deaf lists jobs that never leave their nodes or change their size in place.
	Deaf   []string
	Limits []queue.Limit
	// Piecemeal: a job takes the nodes that are free while it waits for the others, as
	// pods do.
	Piecemeal bool
}

// Job is a job and the scheduler's record of it.
type Job struct {
	queue.Job
	Want    []data.NodeShare // where it has to start; nil: anywhere
	leaving int
}

// New returns a scheduler of nodes with four GPUs each.
func New(nodes ...string) *Fake {
	f := &Fake{Leave: 1, Logs: map[string]string{}}
	for _, n := range nodes {
		f.Cluster.Nodes = append(f.Cluster.Nodes, data.Node{Name: n, GPUType: "a100", GPUs: 4})
	}
	return f
}

// Add adds a job that may be requeued: running on nodes, or waiting for requested workers.
func (f *Fake) Add(id string, requested int, nodes ...data.NodeShare) *Job {
	j := &Job{Job: queue.Job{ID: id, Kind: "job", Name: "job-" + id, User: "ann", State: queue.Pending, Requested: requested, Workers: requested, Requeue: true, Resizable: true, GPUType: "a100"}}
	if len(nodes) > 0 {
		j.State, j.Nodes, j.Workers = queue.Running, nodes, queue.Workers(nodes)
	}
	f.Jobs = append(f.Jobs, j)
	return j
}

// Get returns the job of an id, nil if there is none.
func (f *Fake) Get(id string) *Job {
	for _, j := range f.Jobs {
		if j.ID == id {
			return j
		}
	}
	return nil
}

func (f *Fake) fault(at string) error {
	if f.Fault == nil {
		return nil
	}
	err := f.Fault(at)
	var c Crashed
	if errors.As(err, &c) {
		panic(c)
	}
	return err
}

// Error implements error.
func (c Crashed) Error() string { return "killed at " + c.At }

// Steps are the log lines of n steps from the step first, each of so many seconds.
func Steps(first, n int, seconds float64) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "knee: {\"step\":%d,\"step_time_s\":%g}\n", first+i, seconds)
	}
	return b.String()
}

// Free is how many GPUs are free on a node.
func (f *Fake) Free(node string) int {
	free := 0
	for _, n := range f.Cluster.Nodes {
		if n.Name == node && !n.Drained {
			free = n.GPUs
		}
	}
	for _, j := range f.Jobs {
		for _, s := range j.Nodes {
			if s.Node == node {
				free -= s.Workers
			}
		}
	}
	return free
}

// Step lets time pass: jobs leave, and others start.
func (f *Fake) Step() {
	for _, j := range f.Jobs {
		if j.State == queue.Stopping && !slices.Contains(f.Deaf, j.ID) {
			if j.leaving--; j.leaving <= 0 {
				j.State, j.Nodes = queue.Pending, nil
				j.Restarts++
			}
		}
	}
	for _, j := range f.Jobs {
		if j.State == queue.Pending && !j.Held {
			if f.Piecemeal {
				j.Nodes = slices.DeleteFunc(slices.Clone(j.Want), func(s data.NodeShare) bool { return f.Free(s.Node)+workersOn(j.Nodes, s.Node) < s.Workers })
			}
			if to := f.room(j); to != nil {
				j.State, j.Nodes, j.Workers = queue.Running, to, queue.Workers(to)
				if f.Now != nil {
					j.Started = f.Now()
				}
			}
		}
	}
}

// room returns where a waiting job can start, nil if nowhere: on as few nodes as
// possible, with equally many workers on each, as Slurm does.
func (f *Fake) room(j *Job) []data.NodeShare {
	if j.Want != nil {
		for _, s := range j.Want {
			if f.Free(s.Node)+workersOn(j.Nodes, s.Node) < s.Workers {
				return nil
			}
		}
		return slices.Clone(j.Want)
	}
	for nodes := 1; nodes <= j.Requested; nodes++ {
		if j.Requested%nodes != 0 {
			continue
		}
		var to []data.NodeShare
		for _, n := range f.Cluster.Nodes {
			if each := j.Requested / nodes; len(to) < nodes && f.Free(n.Name) >= each {
				to = append(to, data.NodeShare{Node: n.Name, Workers: each})
			}
		}
		if len(to) == nodes {
			return to
		}
	}
	return nil
}

func workersOn(nodes []data.NodeShare, name string) (n int) {
	for _, s := range nodes {
		if s.Node == name {
			n += s.Workers
		}
	}
	return n
}

// End removes a job from the queue.
func (f *Fake) End(id string) {
	f.Jobs = slices.DeleteFunc(f.Jobs, func(j *Job) bool { return j.ID == id })
}

func (f *Fake) Read(context.Context) (*queue.Snapshot, error) {
	if err := f.fault("read"); err != nil {
		return nil, err
	}
	f.Step()
	s := &queue.Snapshot{Cluster: &data.Cluster{Nodes: slices.Clone(f.Cluster.Nodes)}, Limits: f.Limits}
	for _, j := range f.Jobs {
		c := j.Job
		c.Nodes = slices.Clone(j.Nodes)
		s.Jobs = append(s.Jobs, c)
	}
	return s, nil
}

func (f *Fake) Log(_ context.Context, j queue.Job, _ string, _ time.Time) (io.ReadCloser, error) {
	text, ok := f.Logs[j.ID]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return file{strings.NewReader(text)}, nil
}

// file is a log in memory.
type file struct{ io.ReadSeeker }

func (file) Close() error { return nil }

func (f *Fake) Check(queue.Job, []data.NodeShare) string { return "" }

func (f *Fake) Ended(context.Context, queue.Job) (bool, string) { return f.Failed == "", f.Failed }

func (f *Fake) Hold(_ context.Context, j queue.Job) error {
	return f.call("hold", "hold "+j.ID, j.ID, func(is *Job) error {
		if j.State == queue.Pending && is.State != queue.Pending {
			return fmt.Errorf("job %s is %s and not waiting", j.ID, is.State)
		}
		is.Held, is.HeldByUs = true, true
		if len(is.Nodes) > 0 {
			is.State, is.leaving = queue.Stopping, f.Leave
		}
		return nil
	})
}

func (f *Fake) Start(_ context.Context, j queue.Job, to []data.NodeShare) error {
	text := "start " + j.ID
	for _, s := range to {
		text += fmt.Sprintf(" %s×%d", s.Node, s.Workers)
	}
	return f.call("start", text, j.ID, func(is *Job) error {
		if is.InPlace {
			if is.Workers = queue.Workers(to); len(to) == 0 {
				is.Workers = is.Requested
			}
			if slices.Contains(f.Deaf, j.ID) {
				is.Workers = is.Requested
			}
			return nil
		}
		if is.State != queue.Pending {
			return fmt.Errorf("job %s is %s and not waiting", j.ID, is.State)
		}
		is.Held, is.HeldByUs, is.Want = false, false, slices.Clone(to)
		return nil
	})
}

// call records a call and makes its effect on a job, with the faults before and after it.
func (f *Fake) call(op, text, id string, effect func(*Job) error) error {
	if err := f.fault("before " + op); err != nil {
		return err
	}
	j := f.Get(id)
	if j == nil {
		return fmt.Errorf("invalid job id %s", id)
	}
	f.Calls = append(f.Calls, text)
	if err := effect(j); err != nil {
		return err
	}
	return f.fault("after " + op)
}
