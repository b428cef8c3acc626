// Package launch runs one trial of a configuration somewhere and streams
// what it observes: one file per place a trial can run.
package launch

import (
	"context"
	"time"

	"knee/data"
)

// Trial is one launch of one configuration.
type Trial struct {
	ID      int // unique within a study
	Attempt int // 1 for the first try
	Config  data.Config
	Command []string          // rendered, without templates
	Env     map[string]string // in addition to what the launcher sets
	Dir     string            // working directory; empty is the current one
	Log     string            // file that receives everything the trial prints
}

// Observation is one step of a running trial as it was seen.
type Observation struct {
	At         time.Time
	Step       float64
	StepTime   float64 // seconds; 0 if the line did not say
	SyncTime   float64 // seconds; 0 if the line did not say
	Loss       float64 // NaN if the line did not say
	GradSqr    float64 // NaN if the line did not say
	GradVar    float64 // NaN if the line did not say
	Throughput float64 // samples/s; 0 if the line did not say
}

// Launcher runs a trial and streams its observations until it ends or ctx
// is cancelled. It closes nothing and leaves no process behind. The error
// tells how the trial ended, nil if it exited cleanly; see [Failure].
type Launcher interface {
	Launch(ctx context.Context, t Trial, obs chan<- Observation) error
}

// Failure is the error of a trial that did not end well.
type Failure struct {
	Status data.Status // OOM, Failed, Timeout or Aborted
	Exit   int         // exit code, −1 if there was none
	Detail string      // one line
}

// Error implements error.
func (f *Failure) Error() string { return f.Detail }
