package pollux

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate/place"
	"knee/allocate/simulate/agent"
	"knee/data"
)

// optimus is Optimus (Peng et al., EuroSys 2018) as the Pollux simulator has it, with an
// oracle: one worker each, then one at a time to the job whose remaining time falls most.
// It knows the true step times and the true number of steps to go, and keeps the batch
// its owner asked for.
type optimus struct {
	cache map[predictKey]float64
}

type predictKey struct {
	app     string
	target  float64
	workers int
}

// schedule is the greedy of section 4.1; the smallest jobs are placed first.
func (o *optimus) schedule(active []*job, h *slots) (workers, order []int, err error) {
	workers = make([]int, len(active))
	gains := make([]float64, len(active))
	for n, left := 0, h.Slots(); left > 0; n, left = n+1, left-1 {
		i := n // everyone gets one first
		if n >= len(active) {
			best := slices.Max(gains)
			if best <= 0 {
				break
			}
			i = slices.Index(gains, best)
		}
		workers[i]++
		if gains[i], err = o.gain(active[i], workers[i], h); err != nil {
			return nil, nil, err
		}
	}
	for i := range active {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(workers[a], workers[b]) })
	return workers, order, nil
}

// gain is the seconds that one worker more saves a job of n, 0 where it can use no more;
// the published program never gives ncf more than one.
func (o *optimus) gain(j *job, n int, h *slots) (float64, error) {
	most := int(math.Floor(j.Batch / j.limits.LocalMin))
	if j.app.Name == "ncf" {
		most = 1
	}
	if n+1 > min(most, h.Slots()) {
		return 0, nil
	}
	now, err := o.stepTime(j, n, h)
	if err != nil {
		return 0, err
	}
	then, err := o.stepTime(j, n+1, h)
	return (now - then) * j.stepsLeft(), err
}

// stepsLeft is the true number of steps to go after the present epoch.
func (j *job) stepsLeft() float64 {
	last := j.app.Epochs - 1
	if j.epoch >= last {
		return 1
	}
	return j.app.Iterations(j.Batch, last) - j.app.Iterations(j.Batch, j.epoch)
}

// stepTime is the true time of a step on n workers packed on few nodes.
func (o *optimus) stepTime(j *job, n int, h *slots) (float64, error) {
	key := predictKey{j.app.Name, j.Batch, n}
	if t, ok := o.cache[key]; ok {
		return t, nil
	}
	// A lone worker accumulates even at the initial batch, unlike when it runs.
	c := j.bound(agent.Divide(j.Batch, n, j.limits.LocalMax, 0), n)
	step, sync, err := j.table.Times(place.FitOf(h.Cluster, h.gpuType, data.Need{}).Packed(n), c.Local)
	if err != nil {
		return 0, err
	}
	t := step + float64((step-sync)*float64(c.Accum))
	o.cache[key] = t
	return t, nil
}
