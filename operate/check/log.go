package check

import (
	"math"
	"strconv"

	"knee/profile/launch"
)

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
