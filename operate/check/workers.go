package check

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

// Half is the paper's rule: a worker at less than this part of the median
// speed is a straggler.
const Half = 0.5

// SilentSteps is how many steps a worker may be behind the others. The paper gives no
// number; after five steps the others wait for it, and network delays are shorter.
const SilentSteps = 5

// Verdicts on a worker.
const (
	OK        = "ok"
	Straggler = "straggler"
	Silent    = "silent"
)

// Worker is the verdict on one worker and its figures.
type Worker struct {
	Name     string  `json:"worker"`
	Steps    int     `json:"steps"`
	StepTime float64 `json:"step_time_s"`   // median of its own part of a step: see Workers
	Speed    float64 `json:"speed"`         // ÷ that of the median worker
	Gap      float64 `json:"longest_gap_s"` // longest time between two of its gradients; 0 if arrivals are not recorded
	Behind   float64 `json:"behind_steps"`  // steps of the others since its last one
	Verdict  string  `json:"verdict"`
}

// Workers judges the workers of a job, in order of appearance.
//
// A worker's own part of a step excludes the time it waits for others. Where
// arrivals are recorded it lasts from the end of the previous step (arrival of the
// last gradient of that step) to the arrival of the worker's gradient. Else it is
// the recorded step time less the recorded time of synchronising. The speed is
// 1 ÷ the median of the own part over steps.
func Workers(steps []Step) []Worker {
	all := byWorker(steps)
	var speeds []float64
	lastAt, lastStep, lastLine, timed := math.Inf(-1), -1, 0, false
	for _, w := range all {
		speeds = append(speeds, 1/quantile.Median(w.own))
		lastStep, lastLine = max(lastStep, w.step), max(lastLine, w.line)
		if n := len(w.arrived); n > 0 {
			lastAt, timed = math.Max(lastAt, w.arrived[n-1]), true
		}
	}
	middle := quantile.Median(speeds)
	var out []Worker
	for i, s := range all {
		w := Worker{Name: s.name, Steps: len(s.own), StepTime: quantile.Median(s.own), Speed: speeds[i] / middle, Verdict: OK}
		for n := 1; n < len(s.arrived); n++ {
			w.Gap = math.Max(w.Gap, s.arrived[n]-s.arrived[n-1])
		}
		switch n := len(s.arrived); {
		case n > 0:
			w.Behind = (lastAt - s.arrived[n-1]) * middle
		case lastLine > 0: // how many lines each of the others has printed since
			w.Behind = float64(lastLine-s.line) / float64(max(1, len(all)-1))
		case s.step >= 0 && !timed: // how many step numbers it lacks
			w.Behind = float64(lastStep - s.step)
		}
		switch {
		case w.Behind > SilentSteps:
			w.Verdict = Silent
		case w.Speed < Half:
			w.Verdict = Straggler
		}
		out = append(out, w)
	}
	return out
}

// series holds the recorded steps of one worker.
type series struct {
	name    string
	times   []float64 // recorded step times
	own     []float64 // its own part of its steps (see Workers), at least one
	arrived []float64 // when its gradients arrived, ascending
	step    int       // the last, −1 if not numbered
	line    int       // the last of a log, 0 if there is none
}

// byWorker returns the workers in order of appearance. One whose own part is known of no
// step gets the longest.
func byWorker(steps []Step) []*series {
	ends := map[int]float64{} // when the last gradient of a step arrived
	for _, s := range steps {
		if e, ok := ends[s.Step]; s.HasArrived && s.Step >= 0 && (!ok || s.Arrived > e) {
			ends[s.Step] = s.Arrived
		}
	}
	var out []*series
	at := map[string]*series{}
	longest := 1e-9
	for _, s := range steps {
		w := at[s.Worker]
		if w == nil {
			w = &series{name: s.Worker, step: -1}
			at[s.Worker], out = w, append(out, w)
		}
		w.step, w.line = max(w.step, s.Step), max(w.line, s.Line)
		own := s.Time
		if own > 0 {
			w.times = append(w.times, own)
		}
		if s.Sync < s.Time {
			own -= s.Sync
		}
		if s.HasArrived {
			w.arrived = append(w.arrived, s.Arrived)
			if end, ok := ends[s.Step-1]; ok && s.Arrived > end {
				own = s.Arrived - end
			}
		}
		if own > 0 {
			w.own, longest = append(w.own, own), math.Max(longest, own)
		}
	}
	for _, w := range out {
		slices.Sort(w.arrived)
		if len(w.own) == 0 {
			w.own = []float64{longest}
		}
	}
	return out
}
