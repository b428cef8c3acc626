package policy

import (
	"slices"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// types are the GPU types of the states below.
var types = []string{"slow", "fast"}

// gangOf is a waiting job that needs so many workers for so many seconds on
// each type, 0 where it cannot run.
func gangOf(name string, submitted float64, workers int, seconds ...float64) allocate.JobState {
	j := allocate.JobState{Name: name, Submitted: submitted, Requested: workers, Current: -1, Weight: 1}
	for k, t := range seconds {
		if t == 0 {
			continue
		}
		c := data.Config{GPUType: types[k], Workers: workers}
		j.Options = append(j.Options, allocate.Option{Use: allocate.UseOf(c, data.Resources{}),
			Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: 1 / t}, TimeToTarget: data.Estimate{Mean: t}}})
	}
	return j
}

// stateOf has nodes of so many slow and fast GPUs.
func stateOf(now float64, slow, fast int, jobs ...allocate.JobState) allocate.State {
	return allocate.State{Now: now, Jobs: jobs, Cluster: &data.Cluster{Nodes: []data.Node{
		{Name: "s", GPUType: types[0], GPUs: slow}, {Name: "f", GPUType: types[1], GPUs: fast}}}}
}

// expect fails unless a policy makes the choices, by option.
func expect(t *testing.T, p allocate.Policy, s allocate.State, want ...int) allocate.Assignment {
	t.Helper()
	a, err := p.Allocate(s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Choice, want) {
		t.Errorf("choices %v, want %v", a.Choice, want)
	}
	return a
}
