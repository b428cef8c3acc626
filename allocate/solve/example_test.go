package solve_test

import (
	"fmt"

	"knee/allocate"
	"knee/allocate/solve"
	"knee/data"
	"knee/predict"
)

// Two jobs share eight GPUs. The first scales well, the second hardly.
func ExampleMaximise() {
	table := func(speed ...float64) []allocate.Option {
		var out []allocate.Option
		for i, v := range speed {
			c := data.Config{GPUType: "t4", Workers: i + 1}
			out = append(out, allocate.Option{Answer: predict.Answer{Config: c}, Value: v, Use: allocate.UseOf(c, data.Resources{})})
		}
		return out
	}
	s := allocate.State{
		Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n1", GPUType: "t4", GPUs: 4}, {Name: "n2", GPUType: "t4", GPUs: 4}}},
		Jobs: []allocate.JobState{
			{Name: "scales", Current: -1, Options: table(1, 1.9, 2.8, 3.6, 4.3, 4.9, 5.4, 5.8)},
			{Name: "saturates", Current: -1, Options: table(1, 1.6, 1.8, 1.85)},
		},
	}
	a, err := solve.Maximise(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, c := range a.Choice {
		fmt.Println(s.Jobs[i].Name, s.Jobs[i].Options[c].Config.Workers)
	}
	fmt.Printf("value %.2f, bound %.2f\n", a.Value, a.Bound)
	// Output:
	// scales 6
	// saturates 2
	// value 6.50, bound 6.50
}
