package launch

import (
	"context"
	"fmt"
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
	Env     map[string]string // overrides what the launcher sets
	Dir     string            // working directory; empty is the current one
	Log     string            // file that receives everything the trial prints; empty for none

	// InitialBatch is the global batch (samples) that gradient variance is reported at, or 0.
	InitialBatch float64

	// Handle is the engine's name of a trial submitted by an earlier run; it is followed.
	Handle string
	// Submitted is called with the engine's name of the trial, to follow it after a restart. On
	// an error the name was not recorded, and the launcher cancels the trial. May be nil.
	Submitted func(handle string) error
	// Waiting is called when the trial waits, to be submitted or for nodes. May be nil.
	Waiting func()
	// Began is called when a trial that waited for nodes begins to run: the time before is
	// queueing. May be nil.
	Began func(at time.Time)
	// Away is called while the engine does not answer, so that no output can be read: that time
	// is no hang. May be nil.
	Away func()
	// Used is called at the end with the peak memory (bytes) of the largest process or fullest
	// GPU, measured from outside, and that of the device; 0 if not known. May be nil.
	Used func(peak, device float64)
}

// Observation is one step of a trial. Numbers that it did not report are NaN.
type Observation struct {
	At         time.Time
	Rank       int // of the process that reported it, or UnknownRank
	Step       float64
	Total      float64 // steps of the progress bar; 0 if there is none
	StepTime   float64 // seconds
	SyncTime   float64 // seconds
	Throughput float64 // samples/s
	Rounding   float64 // unit of the last digit of the time or rate, as a share of it; 0 if not known
	Loss       float64
	GradSqr    float64 // |E g|²
	GradVar    float64 // trace of the gradient covariance at the initial batch

	PeakMemory   float64 // bytes, peak of the process so far; 0 if not reported
	DeviceMemory float64 // bytes that the device has; 0 if not reported
	OutOfMemory  string  // a line that says so; empty for others

	odd error // the first quantity that is an oddRate
}

// OfStep reports whether an observation tells of a step, not only of memory or a loss.
func (o Observation) OfStep() bool {
	return !(math.IsNaN(o.Step) && math.IsNaN(o.StepTime) && math.IsNaN(o.Throughput))
}

// UnknownRank is the rank of output that several ranks may share.
const UnknownRank = -1

func unseen() Observation {
	nan := math.NaN()
	return Observation{Rank: UnknownRank, Step: nan, StepTime: nan, SyncTime: nan, Throughput: nan, Loss: nan, GradSqr: nan, GradVar: nan}
}

// Launcher runs one trial and streams its observations until it ends or ctx is cancelled. It
// does not close obs, and when it returns no process of the trial is left.
//
// The error is nil if the trial ended well, the cause of ctx if it was cancelled, a
// [*Failure] if the trial failed; any other error is the launcher's own.
type Launcher interface {
	Launch(ctx context.Context, t Trial, obs chan<- Observation) error
}

// New returns the launcher of a study, local by default. The watchdog may be nil.
func New(s *data.Study, dog *Watchdog) (Launcher, error) {
	parser, err := NewParser(s.Metrics)
	if err != nil {
		return nil, err
	}
	switch spec := s.Launcher; {
	case spec.Replay != nil:
		ms, _, err := data.LoadMeasurements(s.Source.Beside(spec.Replay.Table))
		if err != nil {
			return nil, fmt.Errorf("load the table to replay: %w", err)
		}
		return NewReplay(ms)
	case spec.Kubernetes != nil:
		k := *spec.Kubernetes
		if k.Kubeconfig != "" {
			k.Kubeconfig = s.Source.Beside(k.Kubeconfig)
		}
		return NewKubernetes(k, parser)
	case spec.Slurm != nil:
		return &Slurm{Spec: *spec.Slurm, Parser: parser}, nil
	}
	return &Local{Ranks: s.Launcher.Local != nil && s.Launcher.Local.Ranks, Parser: parser, Watchdog: dog}, nil
}

// Failure is the error of a failed trial.
type Failure struct {
	Status data.Status // OOM, Infeasible or Failed
	Detail string      // one line
	Bound  float64     // seconds that a step takes at least, of a [data.Timeout]; 0 if not known

	// Preempted says that the engine took the nodes: running it again is no retry.
	Preempted bool
}

func (f *Failure) Error() string { return f.Detail }
