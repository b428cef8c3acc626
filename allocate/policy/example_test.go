package policy_test

import (
	"fmt"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// Thrifty gives every job, in order of submission, the smallest gang it can
// run on.
type Thrifty struct{}

// Allocate implements [allocate.Policy].
func (Thrifty) Allocate(s allocate.State) (allocate.Assignment, error) {
	free := map[string]int{}
	for _, n := range s.Cluster.Nodes {
		free[n.GPUType] += n.GPUs
	}
	a := allocate.Assignment{Choice: make([]int, len(s.Jobs))}
	for i, j := range s.Jobs {
		a.Choice[i] = -1 // it waits
		for k, o := range j.Options {
			if o.Config.Workers > free[o.Config.GPUType] {
				continue
			}
			if best := a.Choice[i]; best < 0 || o.Config.Workers < j.Options[best].Config.Workers {
				a.Choice[i] = k
			}
		}
		if k := a.Choice[i]; k >= 0 {
			free[j.Options[k].Config.GPUType] -= j.Options[k].Config.Workers
		}
	}
	return a, nil
}

func Example_ownPolicy() {
	option := func(workers int) allocate.Option {
		return allocate.Option{Answer: predict.Answer{Config: data.Config{GPUType: "a100", Workers: workers}}, Value: float64(workers)}
	}
	cluster := &data.Cluster{Nodes: []data.Node{{Name: "n1", GPUType: "a100", GPUs: 4}}}
	state := allocate.State{Cluster: cluster, Jobs: []allocate.JobState{
		{Name: "first", Options: []allocate.Option{option(2), option(4)}, Current: -1},
		{Name: "second", Options: []allocate.Option{option(1), option(2)}, Current: -1},
		{Name: "third", Options: []allocate.Option{option(4)}, Current: -1},
	}}
	a, err := Thrifty{}.Allocate(state)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Choice)
	// Output: [0 0 -1]
}
