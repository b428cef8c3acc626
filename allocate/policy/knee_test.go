package policy

import (
	"math"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// scaling is a job with so much time left on one GPU whose speed grows with the
// square root of the GPUs, of which it may have 1 or 4.
func scaling(name string, left float64) allocate.JobState {
	j := allocate.JobState{Name: name, Current: -1, Weight: 1, Remaining: left}
	for _, k := range []int{1, 4} {
		v := math.Sqrt(float64(k))
		j.Options = append(j.Options, allocate.Option{Config: data.Config{Workers: k}, Use: allocate.Use{GPUs: k},
			Answer: predict.Answer{Goodput: data.Estimate{Mean: v, Lo: v, Hi: v}}})
	}
	return j
}

// TestKneeWeights: of two jobs with speed-ups √k, the longer weighs
// √(1² − 0²) = 1 and the shorter √(2² − 1²) = √3, each over the 0.2-th power of
// its hours; of two as long, the later counts as the longer.
func TestKneeWeights(t *testing.T) {
	w := Knee{}.weights([]allocate.JobState{scaling("short", 3600), scaling("long", 32*3600)})
	if math.Abs(w[0]-math.Sqrt(3)) > 1e-9 || math.Abs(w[1]-0.5) > 1e-9 {
		t.Errorf("got %v, want √3 and 1/2", w)
	}
	w = Knee{}.weights([]allocate.JobState{scaling("first", 3600), scaling("second", 3600)})
	if math.Abs(w[0]-math.Sqrt(3)) > 1e-9 || math.Abs(w[1]-1) > 1e-9 {
		t.Errorf("got %v, want √3 and 1", w)
	}
}
