package launch

import (
	"context"
	"math"
	"time"

	"knee/data"
)

// Trial is one launch of one configuration.
type Trial struct {
	ID      int // unique within a study, from 1
	Attempt int // 1 for the first try
	Config  data.Config
	Command []string          // rendered, without templates
	Env     map[string]string // in addition to what the launcher sets; wins over it
	Dir     string            // working directory; empty is the current one
	Log     string            // file that receives everything the trial prints; empty for none

	// InitialBatch is the global batch, in samples, that gradient variance
	// is to be reported at; 0 leaves it to the training script.
	InitialBatch float64

	// Handle, if not empty, is what an engine (Slurm, Kubernetes) called this
	// very trial when an earlier run of knee submitted it: the launcher
	// follows that one, and submits nothing.
	Handle string
	// Submitted is called once an engine has taken the trial, with what it
	// calls it, so that it can be recorded and followed after a restart. An
	// error means that it could not be recorded; the launcher then withdraws
	// the trial. May be nil.
	Submitted func(handle string) error
	// Waiting is called when the trial waits: for its turn to be submitted, or
	// for nodes. May be nil.
	Waiting func()
	// Began is called when a trial that had to wait for nodes begins to run:
	// the time before it is queueing, not running. A launcher that starts its
	// trials at once need not call it. May be nil.
	Began func(at time.Time)
	// Used is called when the trial has ended with the memory in bytes that
	// its worst process, or GPU, was seen to hold from outside, and what the
	// device has, each 0 if not known. May be nil.
	Used func(peak, device float64)
}

// Observation is one step of a running trial as it was seen. Numbers that
// the trial did not report are NaN.
type Observation struct {
	At         time.Time
	Rank       int // of the process that reported it; UnknownRank where that is not known
	Step       float64
	StepTime   float64 // seconds
	SyncTime   float64 // seconds
	Throughput float64 // samples/s
	Loss       float64
	GradSqr    float64 // |E g|²
	GradVar    float64 // trace of the gradient covariance at the initial batch

	PeakMemory   float64 // bytes, the most that the process has held so far; 0 if not reported
	DeviceMemory float64 // bytes that the device has; 0 if not reported
}

// OfMemory reports whether an observation reports nothing but memory:
// it is no step, and no sign that steps are read.
func (o Observation) OfMemory() bool {
	known := func(v float64) bool { return !math.IsNaN(v) }
	return (o.PeakMemory > 0 || o.DeviceMemory > 0) &&
		!(known(o.Step) || known(o.StepTime) || known(o.SyncTime) || known(o.Throughput) || known(o.Loss) || known(o.GradSqr) || known(o.GradVar))
}

// UnknownRank is the rank of an observation from output that several ranks may
// share.
const UnknownRank = -1

// unseen returns an observation in which nothing was reported.
func unseen() Observation {
	nan := math.NaN()
	return Observation{Rank: UnknownRank, Step: nan, StepTime: nan, SyncTime: nan, Throughput: nan, Loss: nan, GradSqr: nan, GradVar: nan}
}

// Launcher runs one trial and streams its observations until it ends or ctx
// is cancelled. It does not close obs, and when it returns no process of the
// trial is left.
//
// The error is nil if the trial ended by itself and well, the cause of ctx
// if it was cancelled, and a [*Failure] if the trial failed; any other error
// means that the launcher itself could not do its work.
type Launcher interface {
	Launch(ctx context.Context, t Trial, obs chan<- Observation) error
}

// Failure is the error of a trial that ended badly.
type Failure struct {
	Status data.Status // OOM, Infeasible or Failed
	Exit   int         // exit code, −1 if there was none
	Detail string      // one line

	// Preempted says that the engine took the nodes away (preemption, a drained
	// or failed node), which is no fault of the trial: it is launched again,
	// and that does not count as one of its retries.
	Preempted bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Detail }
