package solve

import (
	"fmt"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// TestNoPriceOfRounding: where every job has its best option and GPUs are left, one
// more is worth nothing, also beside a large value of getting nothing.
func TestNoPriceOfRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := allocate.State{Cluster: testCluster(nodes("a", 4, 4)...)}
		for i := range rapid.IntRange(1, 3).Draw(t, "jobs") {
			var options []allocate.Option
			for w := 1; w <= 4; w++ {
				c := data.Config{GPUType: "a", Workers: w}
				options = append(options, allocate.Option{Answer: predict.Answer{Config: c}, Value: -rapid.Float64Range(1, 20).Draw(t, "cost"), Use: allocate.UseOf(c, data.Resources{})})
			}
			s.Jobs = append(s.Jobs, allocate.JobState{Name: fmt.Sprint(i), Current: allocate.None, Idle: -1e7, Options: options})
		}
		x, err := Maximise(s)
		if err != nil {
			t.Fatal(err)
		}
		if p := x.Prices["a"]; p != 0 {
			t.Errorf("price %g", p)
		}
	})
}
