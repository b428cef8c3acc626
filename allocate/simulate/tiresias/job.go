package tiresias

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate/simulate"
	"knee/data"
)

// never is a time that does not come.
const never = math.MaxInt64

// job is one gang. Times are in seconds, service in GPU-seconds.
type job struct {
	index    int // in the workload
	name     string
	gpus     int64
	submit   int64
	duration int64

	running  bool
	executed int64 // seconds it has run
	checked  int64 // when executed was last brought up to date
	queue    int   // of the discretized policies
	rank     float64
	ever     bool
	start    int64
	end      int64
	resumed  int // starts after the first
}

// remaining is the seconds it still has to run.
func (j *job) remaining() int64 { return j.duration - j.executed }

// jobsOf converts a workload and sorts it by submission, ties in the order
// of the file. Durations lose their fraction, as in the published program.
func jobsOf(workload []simulate.Job) ([]*job, error) {
	var out []*job
	for i, w := range workload {
		switch {
		case w.Submit != math.Trunc(w.Submit) || !(w.Submit >= 0) || w.Submit > 1e15:
			return nil, bad(w, "submit_s", fmt.Sprint(w.Submit), "whole seconds ≥ 0, which is what this simulator counts in")
		case !(w.Work >= 1) || w.Work > 1e15:
			return nil, bad(w, "duration_s", fmt.Sprint(w.Work), "a duration of at least one second")
		case w.Workers < 1:
			return nil, bad(w, "workers", fmt.Sprint(w.Workers), "at least one GPU")
		}
		out = append(out, &job{index: i, name: w.Name, gpus: int64(w.Workers), submit: int64(w.Submit), duration: int64(w.Work)})
	}
	slices.SortStableFunc(out, func(a, b *job) int { return cmp.Compare(a.submit, b.submit) })
	return out, nil
}

func bad(w simulate.Job, column, found, want string) error {
	src := w.Source
	src.Column = column
	return &data.InputError{Source: src, Found: fmt.Sprintf("%s for job %q", found, w.Name), Want: want}
}
