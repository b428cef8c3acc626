package policy

import (
	"math"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// TestFluidIsOptimal: of two jobs with speed-ups √k, heSRPT gives the longer
// (1/2)² of the cluster and the shorter the rest, three times as much, whatever their
// work; so a sample of the shorter is worth √3 times as much.
func TestFluidIsOptimal(t *testing.T) {
	for _, long := range []float64{7200, 40 * 3600} {
		s := allocate.State{Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: 400}}}}
		for _, left := range []float64{3600, long} {
			j := allocate.JobState{Current: -1, Remaining: left}
			for k := 1; k <= 400; k++ {
				v := math.Sqrt(float64(k))
				j.Options = append(j.Options, allocate.Option{Use: allocate.Use{GPUType: "t4", GPUs: k},
					Answer: predict.Answer{Goodput: data.Estimate{Mean: v, Lo: v, Hi: v}}})
			}
			s.Jobs = append(s.Jobs, j)
		}
		if c := newFluid(s).worth(); math.Abs(c[0]/c[1]/math.Sqrt(3)-1) > 0.01 {
			t.Errorf("%g s left: samples are worth %v, want a ratio of √3", long, c)
		}
	}
}
