package bayesopt

import (
	"slices"
	"testing"

	"knee/data"
)

// What fits a GPU fits one with more memory, and what does not fit one does
// not fit one with less; nothing follows for types that are not known.
func TestMemoryChancesAcrossTypes(t *testing.T) {
	at := func(gpu string, batch float64) data.Config {
		return data.Config{GPUType: gpu, Workers: 1, LocalBatch: batch}
	}
	cands := []data.Config{at("t4", 64), at("a100", 64), at("mystery", 64)}
	for _, tc := range []struct {
		name  string
		fit   []data.Config
		out   []data.Config
		wants []float64
	}{
		{"fits the smaller", []data.Config{at("t4", 64)}, []data.Config{at("a100", 512)}, []float64{1, 1, 1}},
		{"fits the larger, half as much the smaller", []data.Config{at("a100", 64), at("t4", 32)}, nil, []float64{fitsAnotherDoubling, 1, 1}},
		{"fails the larger", nil, []data.Config{at("a100", 64)}, []float64{afterFailure, afterFailure, 1}},
		{"fails the smaller", nil, []data.Config{at("t4", 64)}, []float64{afterFailure, 1, 1}},
	} {
		r := memoryRules{out: tc.out, fit: tc.fit}
		if got := r.chances(cands); !slices.Equal(got, tc.wants) {
			t.Errorf("%s: chances %v of %v, want %v", tc.name, got, cands, tc.wants)
		}
	}
}
