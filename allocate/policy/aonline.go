package policy

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/solve"
	"knee/data"
	"knee/predict"
)

// AOnline minimises the sum of weighted completion times without knowing later jobs
// (A_online: Zhang, Zhou, Wu, Jiao and Li, MobiHoc 2020). Time is divided into windows that
// double in length. At the start of each it chooses, of the jobs submitted so far, the set
// of largest total weight that fits the GPU time of a window as long as all time before,
// each with the GPU type and count whose time costs least at the prices of types. Chosen
// jobs run before all others, gang by gang. Simplified, see docs/policies.md.
//
// With the choice exact, and as gangs served in a list end within twice the length that GPU
// time and the longest job need (Garey and Graham 1975), the sum is at most 8 times the
// least (Hall, Schulz, Shmoys and Wein, Mathematics of Operations Research 1997, theorem
// 4.2: 4ρ, ρ = 2).
type AOnline struct {
	origin float64         // when the first window began
	until  float64         // when the present one ends
	chosen map[string]pick // by job; nil before the first window
}

// pick is a chosen job: its place in the list, and its option.
type pick struct {
	place, gpus int
	gpuType     string
}

const (
	aonlineFirst = shortest // seconds of the first window: no job is shorter
	aonlineUnits = 1000     // into which the GPU time of a window is divided
)

// Allocate implements [allocate.Policy].
func (w *AOnline) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	begins := w.chosen == nil
	if begins {
		w.origin, w.until, w.chosen = s.Now, s.Now+aonlineFirst/2, map[string]pick{}
	}
	for ; begins || s.Now >= w.until; begins = false {
		w.until = w.origin + 2*(w.until-w.origin)
		if err := w.choose(q); err != nil {
			return allocate.Assignment{}, err
		}
	}
	for _, i := range sorted(s, func(j *allocate.JobState) key {
		if at, ok := w.chosen[j.Name]; ok {
			return key{0, float64(at.place)}
		}
		return key{1, timeLeft(j) / weightOf(j)}
	}) {
		if at, ok := w.chosen[s.Jobs[i].Name]; ok {
			q.tryLike(i, at.gpuType, at.gpus)
		} else {
			q.serve(i)
		}
	}
	q.wake = w.until // when the next window begins
	return q.assignment(), nil
}

// choose chooses for the window that begins: a knapsack of GPU time by type.
func (w *AOnline) choose(q *queue) error {
	s := q.state
	window, all := math.Max((w.until-w.origin)/2, aonlineFirst), newGangs(q)
	sub := allocate.State{Cluster: &data.Cluster{}}
	for _, t := range all.types {
		sub.Cluster.Nodes = append(sub.Cluster.Nodes, data.Node{Name: t, GPUType: t, GPUs: aonlineUnits})
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		x := allocate.JobState{Name: j.Name, Current: allocate.None}
		for n := range j.Options {
			use, k := &j.Options[n].Use, slices.Index(all.types, j.Options[n].Use.GPUType)
			if _, has := w.chosen[j.Name]; has || k < 0 || float64(use.GPUs) > all.room[k] || optionTime(j, n) > window {
				continue
			}
			units := int(math.Ceil(aonlineUnits * float64(use.GPUs) * optionTime(j, n) / (all.room[k] * window) * (1 - allocate.Slack)))
			x.Options = append(x.Options, allocate.Option{Answer: predict.Answer{Config: j.Options[n].Config}, Value: weightOf(j), Use: allocate.Use{GPUType: use.GPUType, GPUs: units}})
		}
		sub.Jobs = append(sub.Jobs, x)
	}
	best, err := solve.Best(sub, nil)
	if err != nil {
		return err
	}
	for i, c := range best.Choice {
		if c >= 0 {
			at := sub.Jobs[i].Options[c].Config
			w.chosen[s.Jobs[i].Name] = pick{len(w.chosen), at.Workers, at.GPUType}
		}
	}
	return nil
}
