package bayesopt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"knee/data"
)

// Below a ramp its columns make no difference, above it they do.
func TestRamp(t *testing.T) {
	h := Hyper{LogLength: []float64{-1, -1, -1}, LogNugget: -20, Ramp: Ramp{Columns: []int{1, 2}, By: 0, At: 0.1}}
	g, err := NewGP([][]float64{{0, 0, 1}, {1, 0, 1}}, []float64{1, 3}, 1, h)
	if err != nil {
		t.Fatal(err)
	}
	apart := -1.0
	for _, at := range []float64{0, 0.2, 0.9} {
		mean, _ := g.Predict([]float64{at, 0, 1})
		other, variance := g.Predict([]float64{at, 1, 0})
		if at == 0 && (math.Abs(mean-1) > 1e-3 || variance > 1e-3) {
			t.Errorf("without an effect %g ± %g, want the measured 1", mean, math.Sqrt(variance))
		}
		if d := math.Abs(other - mean); (at > 0) != (d > 1e-9) || d <= apart {
			t.Errorf("at %g the knobs change the mean by %g, at less by %g", at, d, apart)
		} else {
			apart = d
		}
	}
}

// Ramps are of the further knobs, along workers and nodes, and only for times of
// steps.
func TestRamped(t *testing.T) {
	h := History{}
	for _, codec := range []string{"a", "b", "c"} {
		for _, n := range []int{1, 2, 4} {
			c := data.Config{Workers: n, LocalBatch: 8 / float64(n), Extra: map[string]string{"codec": codec}}
			h.Candidates = append(h.Candidates, c)
			h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: 1})
		}
	}
	for _, jobs := range []bool{false, true} {
		p := mustProblem(t, Options{Objective: StepTime, JobTime: jobs}, h)
		post, err := p.learn()
		if err != nil {
			t.Fatal(err)
		}
		ramps := 0
		for _, m := range post.fair {
			if r := m.gp.hyper.Ramp; len(r.Columns) > 0 {
				ramps++
				if !slices.Equal(r.Columns, []int{2, 3, 4}) || r.By != 0 {
					t.Fatalf("ramp of columns %v by %d, want the codecs, 2 to 4, by workers, 0", r.Columns, r.By)
				}
			}
		}
		if jobs != (ramps == 0) {
			t.Errorf("whole jobs %t: %d of %d draws have a ramp", jobs, ramps, len(post.fair))
		}
	}
	from := 0
	for rng, n := rand.New(rand.NewPCG(1, 2)), 0; n < 400; n++ {
		if r := (Prior{Knobs: []int{1}, Sizes: []int{0}, RampShare: .5}).draw(2, rng).Ramp; len(r.Columns) > 0 && r.At == 0 {
			from++
		}
	}
	if from < 70 || from > 130 {
		t.Errorf("%d of 400 draws have a ramp from the least size on, want about 100", from)
	}
}
