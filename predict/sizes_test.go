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
		40: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 40, 64, 80},
		64: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 64, 128},
	} {
		workers, ps := Sizes(modelOf(t, 1, most), "t4", data.AllReduce)
		if !slices.Equal(workers, want) || !slices.Equal(ps, []int{0}) {
			t.Errorf("most %d: workers %v, ps %v; want %v and 0", most, workers, ps, want)
		}
	}
}

// The best inside the measured range is inside it, if anything is.
func TestBestInside(t *testing.T) {
	p := &Predictor{Model: modelOf(t, 1, 4)}
	at := func(k int) data.Config {
		return data.Config{Job: "j", GPUType: "t4", Workers: k, LocalBatch: 32}
	}
	for _, c := range []struct {
		workers []int
		inside  bool
		want    int
	}{{[]int{2, 4, 64}, true, 4}, {[]int{2, 4, 64}, false, 64}, {[]int{64}, true, 64}} {
		var candidates []data.Config
		for _, k := range c.workers {
			candidates = append(candidates, at(k))
		}
		if got, err := Best(p, candidates, Limits{Inside: c.inside}); err != nil || got.Config.Workers != c.want {
			t.Errorf("of %v, inside %v: %d workers, %v; want %d", c.workers, c.inside, got.Config.Workers, err, c.want)
		}
	}
}
