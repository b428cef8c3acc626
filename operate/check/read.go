package check

import (
	"io"
	"math"
	"strconv"

	"knee/data"
	"knee/profile/launch"
)

// Step is one step of one worker.
type Step struct {
	Worker  string  `csv:"worker"`
	Step    int     `csv:"step,default=-1"`                                                  // −1 if not recorded
	Time    float64 `csv:"step_time_s" is:"positive seconds"`                                // s the step took; 0 if not recorded
	Sync    float64 `csv:"sync_time_s" is:"seconds"`                                         // s of it spent synchronising, waiting for others included; 0 if not recorded
	Line    int     `csv:"-"`                                                                // line of the log, counted over all workers; 0 if not from a log
	Arrived float64 `csv:"arrived_s" is:"any" of:"seconds on a clock common to all workers"` // when its gradient arrived
	// HasArrived: Arrived was recorded.
	HasArrived bool `csv:"-"`
}

// Read reads the step times of the workers of one job: a CSV file with a
// header row and a row for each step of each worker. Columns:
//
//	worker       name or rank
//	step         number of the step, the same for all workers; optional
//	step_time_s  seconds the worker's step took
//	sync_time_s  seconds of it spent synchronising; optional
//	arrived_s    when its gradient arrived, in seconds on one clock; with
//	             step it can stand in for step_time_s
//
// Unknown columns are ignored and named in the warnings.
func Read(r io.Reader, file string) ([]Step, []string, error) {
	t, err := data.NewTable(r, file)
	if err != nil {
		return nil, nil, err
	}
	if !t.Has("worker") || !t.Has("step_time_s") && !(t.Has("step") && t.Has("arrived_s")) {
		return nil, nil, t.Missing("", "worker, and step_time_s or both of step and arrived_s")
	}
	var out []Step
	err = data.EachOf(t, func(row *data.Row, s *Step) error {
		s.HasArrived = row.Cell("arrived_s") != ""
		switch {
		case s.Worker == "":
			row.Fail("worker", "nothing", "the name or rank of the worker")
		case s.Time == 0 && !(s.HasArrived && s.Step >= 0):
			row.Fail("step_time_s", "nothing", "seconds > 0, or step and arrived_s in its place")
		}
		out = append(out, *s)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &data.InputError{Source: data.Source{File: file}, Found: "no rows", Want: "a row for each step of each worker"}
	}
	if err != nil {
		return nil, nil, err
	}
	return out, t.Unknown(data.ColumnNames[Step]()), nil
}

// recorded is how many steps of each worker are kept: enough for a steady
// median. A log may hold millions.
const recorded = 1000

// Recorder collects the steps of workers from the lines they print.
type Recorder struct {
	steps map[int][]Step
	ranks []int // in order of appearance
	lines int
}

// Add records one line. It is ignored without a rank or a finite step time > 0.
func (r *Recorder) Add(o launch.Observation) {
	if o.Rank == launch.UnknownRank || !(o.StepTime > 0) || math.IsInf(o.StepTime, 1) {
		return
	}
	r.lines++
	s := Step{Worker: strconv.Itoa(o.Rank), Step: -1, Time: o.StepTime, Line: r.lines}
	if o.Step >= 0 && o.Step < math.MaxInt32 {
		s.Step = int(o.Step)
	}
	if o.SyncTime > 0 {
		s.Sync = o.SyncTime
	}
	if r.steps == nil {
		r.steps = map[int][]Step{}
	}
	if r.steps[o.Rank] == nil {
		r.ranks = append(r.ranks, o.Rank)
	}
	kept := append(r.steps[o.Rank], s)
	if len(kept) > 2*recorded {
		kept = append(kept[:0], kept[len(kept)-recorded:]...)
	}
	r.steps[o.Rank] = kept
}

// Steps returns the last steps, at most 1000, of every worker.
func (r *Recorder) Steps() []Step {
	var out []Step
	for _, rank := range r.ranks {
		kept := r.steps[rank]
		out = append(out, kept[max(0, len(kept)-recorded):]...)
	}
	return out
}
