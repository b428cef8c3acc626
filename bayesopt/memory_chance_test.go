package bayesopt

import (
	"math"
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
		// 16 GB against 40: twice 2.5 times the batch is not expected to fit.
		{"fails the smaller", nil, []data.Config{at("t4", 64)}, []float64{afterFailure, 0.8, 1}},
		{"fails the smaller by far", nil, []data.Config{at("t4", 8)}, []float64{afterFailure, afterFailure, 1}},
		{"fits after all", []data.Config{at("a100", 32)}, []data.Config{at("t4", 8)}, []float64{afterFailure, fitsAnotherDoubling, 1}},
	} {
		r := memoryRules{out: tc.out, fit: tc.fit}
		if got := r.chances(cands); !slices.Equal(got, tc.wants) {
			t.Errorf("%s: chances %v of %v, want %v", tc.name, got, cands, tc.wants)
		}
	}
}

// Between what fitted and what did not a batch is the less likely to fit the
// larger it is, but the next larger one is never given up.
func TestMemoryChanceBetween(t *testing.T) {
	l := limits{fits: 8, fails: []float64{32}, next: 12}
	if a, b := l.chance(16), l.chance(24); a != 0.25 || !(b < a) {
		t.Errorf("chances %g of 16 and %g of 24, want 0.25 and less", a, b)
	}
	l.next = 31
	if got := l.chance(31); got != nextFits {
		t.Errorf("chance %g of the next larger batch, want %g", got, nextFits)
	}
}

// A gamble has to promise more than what it may lose, and less of it the safer
// it is.
func TestWorthTheRisk(t *testing.T) {
	sure := func(gain float64) Predictive {
		return Predictive{Mean: []float64{-gain}, SD: []float64{1e-9}, Weight: []float64{1}}
	}
	for _, tc := range []struct {
		gain, fits float64
		want       bool
	}{{0, 1, true}, {0.1, 0.25, true}, {failureLoss / 2, 0.5, false}, {failureLoss / 2, 0.9, true}, {0, 0.9, false}} {
		if got := worthTheRisk(sure(tc.gain), 0, tc.fits); got != tc.want {
			t.Errorf("gain %g with chance %g: worth it = %v", tc.gain, tc.fits, got)
		}
	}
	if !worthTheRisk(sure(0), math.Inf(1), 0.5) {
		t.Error("no risk is worth it while nothing meets the deadline")
	}
}
