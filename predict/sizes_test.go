package predict

import (
	"slices"
	"testing"

	"knee/data"
	"knee/fit"
)

// modelOf fits a model to all-reduce step times at 1…k workers.
func modelOf(t *testing.T, workers ...int) *fit.Model {
	t.Helper()
	var ms []data.Measurement
	for _, k := range workers {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "t4", Workers: k, LocalBatch: 32},
			StepTime: .1 + .01*float64(k), Status: data.OK})
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSizes(t *testing.T) {
	for most, want := range map[int][]int{
		1:  {1, 2},
		3:  {1, 2, 3, 4, 5, 6},
		10: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20},
		64: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 64, 128},
	} {
		workers, ps := Sizes(modelOf(t, 1, most), "t4", data.AllReduce)
		if !slices.Equal(workers, want) || !slices.Equal(ps, []int{0}) {
			t.Errorf("most %d: workers %v, ps %v; want %v and 0", most, workers, ps, want)
		}
	}
}

func TestWithinAndUnmeasured(t *testing.T) {
	p := &Predictor{Model: modelOf(t, 1, 4)}
	at := func(k int) data.Config {
		return data.Config{Job: "j", GPUType: "t4", Workers: k, LocalBatch: 32}
	}
	got := Within(p, []data.Config{at(2), at(4), at(64)})
	if len(got) != 2 || got[1].Workers != 4 {
		t.Errorf("within = %v, want 2 and 4 workers", got)
	}
	if got := Within(p, []data.Config{at(64)}); len(got) != 1 {
		t.Errorf("with nothing inside = %v, want the candidate outside", got)
	}
	if got := Unmeasured([]data.Config{at(1), at(2)}, []data.Measurement{{Config: at(1)}}); len(got) != 1 || got[0].Workers != 2 {
		t.Errorf("unmeasured = %v, want 2 workers", got)
	}
}
