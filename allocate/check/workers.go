package check

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

// Half is the paper's rule: a worker at less than this part of the median
// speed is a straggler.
const Half = 0.5

// SilentSteps is how many steps a worker may be behind the others before it
// counts as silent. The paper does not say how long a gap is too long; at
// five steps the others have felt it, and no network hiccup lasts that long.
const SilentSteps = 5

// Verdicts on a worker.
const (
	OK        = "ok"
	Straggler = "straggler"
	Silent    = "silent"
)

// Worker is what is found out about one worker.
type Worker struct {
	Name     string  `json:"worker"`
	Steps    int     `json:"steps"`
	StepTime float64 `json:"step_time_s"`   // median of its own part of a step: see Workers
	Speed    float64 `json:"speed"`         // of the median worker's, 1 is alike
	Gap      float64 `json:"longest_gap_s"` // longest time between two of its gradients; 0 if arrivals are not recorded
	Behind   float64 `json:"behind_steps"`  // steps since it was last heard of, as the others step
	Verdict  string  `json:"verdict"`
}

// Workers judges the workers of a job, in order of appearance.
//
// Where arrivals are recorded, the own part of a worker's step is the time
// from the end of the step before, when the last gradient of it had arrived,
// to the arrival of its own gradient; that tells workers apart that wait for
// each other. Else it is the recorded step time, without the part of it that
// was spent synchronising if that is recorded too. The speed is the inverse
// of its median over steps.
func Workers(steps []Step) []Worker {
	var out []Worker
	times, gaps := ownTimes(steps), longestGaps(steps)
	last := lastHeard(steps)
	for _, name := range names(steps) {
		w := Worker{Name: name, Steps: len(times[name]), StepTime: quantile.Median(times[name]), Verdict: OK}
		w.Gap = gaps[name]
		out = append(out, w)
	}
	var speeds []float64
	for _, w := range out {
		speeds = append(speeds, 1/w.StepTime)
	}
	middle := quantile.Median(speeds)
	for i := range out {
		w := &out[i]
		w.Speed = 1 / w.StepTime / middle
		w.Behind = last.behind(w.Name, 1/middle)
		switch {
		case w.Behind > SilentSteps:
			w.Verdict = Silent
		case w.Speed < Half:
			w.Verdict = Straggler
		}
	}
	return out
}

// names lists the workers in order of appearance.
func names(steps []Step) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range steps {
		if !seen[s.Worker] {
			seen[s.Worker] = true
			out = append(out, s.Worker)
		}
	}
	return out
}

// ownTimes is each worker's own part of its steps; see Workers. Of a worker
// that has none the job can tell, such as with a single step, it is the
// longest of all.
func ownTimes(steps []Step) map[string][]float64 {
	ends := map[int]float64{} // when the last gradient of a step arrived
	for _, s := range steps {
		if e, ok := ends[s.Step]; s.HasArrived && s.Step >= 0 && (!ok || s.Arrived > e) {
			ends[s.Step] = s.Arrived
		}
	}
	out := map[string][]float64{}
	longest := 0.0
	for _, s := range steps {
		own := s.Time
		if s.Sync < s.Time {
			own -= s.Sync
		}
		if end, ok := ends[s.Step-1]; ok && s.HasArrived && s.Arrived > end {
			own = s.Arrived - end
		}
		if own > 0 {
			out[s.Worker] = append(out[s.Worker], own)
			longest = math.Max(longest, own)
		}
	}
	for _, name := range names(steps) {
		if len(out[name]) == 0 {
			out[name] = []float64{math.Max(longest, 1e-9)}
		}
	}
	return out
}

// longestGaps is the longest time between gradients of each worker, 0 if
// fewer than two arrivals are recorded.
func longestGaps(steps []Step) map[string]float64 {
	at := map[string][]float64{}
	for _, s := range steps {
		if s.HasArrived {
			at[s.Worker] = append(at[s.Worker], s.Arrived)
		}
	}
	gaps := map[string]float64{}
	for name, t := range at {
		slices.Sort(t)
		for i := 1; i < len(t); i++ {
			gaps[name] = math.Max(gaps[name], t[i]-t[i-1])
		}
	}
	return gaps
}

// heard is when, and at which step, workers were last heard of.
type heard struct {
	at       map[string]float64
	step     map[string]int
	lastAt   float64
	lastStep int
}

func lastHeard(steps []Step) heard {
	h := heard{at: map[string]float64{}, step: map[string]int{}, lastAt: math.Inf(-1), lastStep: -1}
	for _, s := range steps {
		if s.HasArrived {
			if t, ok := h.at[s.Worker]; !ok || s.Arrived > t {
				h.at[s.Worker] = s.Arrived
			}
			h.lastAt = math.Max(h.lastAt, s.Arrived)
		}
		if n, ok := h.step[s.Worker]; !ok || s.Step > n {
			h.step[s.Worker] = s.Step
		}
		h.lastStep = max(h.lastStep, s.Step)
	}
	return h
}

// behind is the steps of stepTime seconds since a worker was last heard of;
// without arrivals, how many step numbers it lacks.
func (h heard) behind(name string, stepTime float64) float64 {
	if t, ok := h.at[name]; ok {
		return (h.lastAt - t) / stepTime
	}
	if h.step[name] < 0 || len(h.at) > 0 {
		return 0
	}
	return float64(h.lastStep - h.step[name])
}
