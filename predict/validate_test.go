package predict

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/internal/bench"
)

// noisy is the simulated job on two GPU types, with errors of a few per cent.
func noisy(t testing.TB) []data.Measurement {
	ms := append(measureTruth(t, "a100", 1), measureTruth(t, "t4", 3)...)
	for i := range ms {
		ms[i].StepTime *= 1 + .02*math.Sin(float64(5*i))
	}
	return ms
}

func validate(t testing.TB, ms, test []data.Measurement, s ValidationSettings) *Validation {
	t.Helper()
	v, err := Validate(context.Background(), ms, test, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidateIsDeterministicAndComplete(t *testing.T) {
	ms := noisy(t)
	last := 0
	one := validate(t, ms, nil, ValidationSettings{Folds: 5, Seed: 3, Progress: func(done, total int) {
		if done != last+1 || total != 5 {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}})
	again := validate(t, ms, nil, ValidationSettings{Folds: 5, Seed: 3})
	if !reflect.DeepEqual(one.Residuals, again.Residuals) {
		t.Error("the same seed gives different residuals")
	}
	if other := validate(t, ms, nil, ValidationSettings{Folds: 5, Seed: 4}); reflect.DeepEqual(one.Residuals, other.Residuals) {
		t.Error("another seed deals the same folds")
	}
	seen := map[string]int{}
	for _, r := range one.Residuals {
		seen[r.Measured.Key()]++
		if r.Support != 12 {
			t.Errorf("%v was predicted from %d measurements, want 4/5 of 15", r.Measured.Config, r.Support)
		}
	}
	for _, m := range ms {
		if seen[m.Key()] != 1 {
			t.Errorf("%v was predicted %d times", m.Config, seen[m.Key()])
		}
	}
	if total := one.Totals(); len(total) != 1 || total[0].N != 30 || total[0].MAPE > 6 || total[0].Coverage < 80 {
		t.Errorf("totals of a job that the family describes: %+v", total)
	}
}

// Every measurement is tested once, repetitions together, and the folds'
// numbers of configurations of a group differ by at most one.
func TestDealIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []data.Measurement
		keys := map[string]bool{}
		for range rapid.IntRange(2, 40).Draw(t, "rows") {
			c := data.Config{GPUType: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "gpu"), Workers: rapid.IntRange(1, 16).Draw(t, "workers")}
			keys[c.Key()] = true
			rows = append(rows, data.Measurement{Config: c, StepTime: 1, Status: data.OK})
		}
		n := rapid.IntRange(1, len(keys)).Draw(t, "folds")
		tested, of := 0, map[string]int{}
		share := map[string][]int{}
		for i, f := range deal(rows, n, 1) {
			train, test := (&trial{rows: rows, held: f}).divide()
			if len(train)+len(test) != len(rows) || len(test) == 0 {
				t.Fatalf("fold %d trains on %d and tests %d of %d", i, len(train), len(test), len(rows))
			}
			tested += len(test)
			for _, r := range test {
				if j, dealt := of[r.Key()]; dealt && j != i {
					t.Fatalf("%v is in folds %d and %d", r.Config, i, j)
				}
				if _, dealt := of[r.Key()]; !dealt {
					of[r.Key()] = i
					if share[r.GPUType] == nil {
						share[r.GPUType] = make([]int, n)
					}
					share[r.GPUType][i]++
				}
			}
		}
		if tested != len(rows) {
			t.Fatalf("%d of %d rows tested", tested, len(rows))
		}
		for gpu, counts := range share {
			if slices.Max(counts)-slices.Min(counts) > 1 {
				t.Fatalf("the folds hold %v configurations of %s", counts, gpu)
			}
		}
	})
}

func TestForwardPredictsTheLarger(t *testing.T) {
	ms := noisy(t)
	single := data.Measurement{Config: data.Config{Job: "made-up", GPUType: "k80", Mode: data.AllReduce, Workers: 2, LocalBatch: 32}, StepTime: 1, Status: data.OK}
	v := validate(t, append(ms, single), nil, ValidationSettings{Method: Forward})
	if len(v.Residuals) != 12 {
		t.Fatalf("%d residuals, want 2 GPU types × 2 worker counts × 3 batches", len(v.Residuals))
	}
	for _, r := range v.Residuals {
		if r.Measured.Workers < 8 || !r.Extrapolated {
			t.Errorf("predicted %v, extrapolated %v; want 8 and 16 workers from 1, 2 and 4", r.Measured.Config, r.Extrapolated)
		}
	}
	if len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "k80") {
		t.Errorf("warnings %q; want one about k80", v.Warnings)
	}
	by := v.ByDistance()
	if len(by) != 1 || by[0].Distance != "extrapolated" || by[0].N != 12 {
		t.Errorf("by distance %+v", by)
	}
}

// A knob that is 0 on the larger sizes alone is no reason to refuse a fold.
func TestForwardOfKnobsAtZero(t *testing.T) {
	ms := measureTruth(t, "a100", 1)
	larger := 0
	for i := range ms {
		ms[i].Extra = map[string]string{"prefetch": "2"}
		if ms[i].Workers > 4 {
			ms[i].Extra["prefetch"] = "0"
			larger++
		}
	}
	v := validate(t, ms, nil, ValidationSettings{Method: Forward})
	if len(v.Residuals) != larger {
		t.Errorf("%d residuals of %d larger rows", len(v.Residuals), larger)
	}
}

func TestHeldOutNamesWhatWasNeverTrained(t *testing.T) {
	ms := noisy(t)
	test := []data.Measurement{ms[0], ms[1], ms[2], ms[29]}
	test[1].GPUType = "h100"
	test[2].Job = "other"
	v := validate(t, ms[:15], test, ValidationSettings{})
	if v.Method != HeldOut || len(v.Residuals) != 1 {
		t.Fatalf("method %s, %d residuals", v.Method, len(v.Residuals))
	}
	got := map[string]int{}
	for _, u := range v.Untested {
		got[u.Job+" "+u.GPUType] += u.Rows
	}
	if want := map[string]int{"made-up h100": 1, "other a100": 1, "made-up t4": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("untested %v, want %v", got, want)
	}
}

func TestFamiliesBesideEachOther(t *testing.T) {
	ms := noisy(t)[:15]
	for _, k := range []int{1, 2, 4} {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "made-up", GPUType: "a100", Mode: data.PSSync, Workers: k, PS: 1, LocalBatch: 32}, StepTime: 1 + float64(k), Status: data.OK})
	}
	v := validate(t, ms, nil, ValidationSettings{Families: []string{"auto", "pollux", "amdahl"}, Folds: 3})
	var got []string
	for _, s := range v.ByGroup() {
		got = append(got, string(s.Mode)+" "+s.Family)
	}
	want := []string{"allreduce auto", "allreduce pollux", "allreduce amdahl", "ps-sync auto", "ps-sync amdahl"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if len(v.Untested) != 1 || v.Untested[0].Family != "pollux" || v.Untested[0].Rows != 3 {
		t.Errorf("untested %+v; want 3 ps-sync rows of pollux", v.Untested)
	}
}

func TestValidateRefuses(t *testing.T) {
	ms := noisy(t)[:3]
	failed := slices.Clone(ms)
	for i := range failed {
		failed[i].Status, failed[i].StepTime = data.OOM, 0
	}
	tests := []struct {
		name     string
		ms, test []data.Measurement
		s        ValidationSettings
		want     string
	}{
		{"all failed", failed, nil, ValidationSettings{}, "3 measurements, none of them ok"},
		{"none", nil, nil, ValidationSettings{}, "0 measurements, none of them ok"},
		{"failed test", ms, failed, ValidationSettings{}, "3 test measurements, none of them ok"},
		{"too many folds", ms, nil, ValidationSettings{Folds: 4}, "4 folds of the 3 configurations of made-up"},
		{"one configuration", append(ms[:1:1], ms[0]), nil, ValidationSettings{}, "1 configuration"},
		{"folds of forward", ms, nil, ValidationSettings{Method: Forward, Folds: 3}, "with method forward"},
		{"a test set in folds", ms, ms, ValidationSettings{Method: KFold}, "test measurements with method test"},
		{"unknown family", ms, nil, ValidationSettings{Families: []string{"cubic"}}, `"cubic"`},
		{"family twice", ms, nil, ValidationSettings{Families: []string{"auto", "auto"}}, "at most once"},
		{"unknown method", ms, nil, ValidationSettings{Method: "bootstrap"}, `"bootstrap"`},
		{"nothing larger", ms, nil, ValidationSettings{Method: Forward}, "nothing to hold out"},
		{"nothing trained", ms, []data.Measurement{{Config: data.Config{Job: "made-up", GPUType: "h100", Workers: 1}, StepTime: 1, Status: data.OK}},
			ValidationSettings{}, "1 measurement of h100, allreduce: none of that GPU type and mode is trained on"},
	}
	for _, tt := range tests {
		_, err := Validate(context.Background(), tt.ms, tt.test, tt.s)
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want an input error with %q", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Validate(ctx, noisy(t), nil, ValidationSettings{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Summary of four predictions, computed by hand.
func TestSummary(t *testing.T) {
	row := func(measured, predicted, lo, hi float64) Residual {
		return Residual{Family: "auto", Measured: data.Measurement{StepTime: measured}, Predicted: data.Estimate{Mean: predicted, Lo: lo, Hi: hi}}
	}
	got := Summary{}.of([]Residual{row(1, 1.1, .9, 1.3), row(2, 1.6, 1.5, 1.7), row(4, 4, 3, 5), row(1, 1.3, 1, 1.6)})
	// Errors 10, 20, 0, 30 %; half-widths 18.18, 6.25, 25, 23.08 %.
	want := Summary{N: 4, MAPE: 15, Median: 15, P90: 27, Coverage: 75, HalfWidth: (20/1.1 + 30/1.3) / 2}
	for _, f := range []struct {
		name      string
		got, want float64
	}{{"mape", got.MAPE, want.MAPE}, {"median", got.Median, want.Median}, {"p90", got.P90, want.P90}, {"coverage", got.Coverage, want.Coverage}, {"half_width", got.HalfWidth, want.HalfWidth}} {
		if math.Abs(f.got-f.want) > 1e-9 {
			t.Errorf("%s = %g, want %g", f.name, f.got, f.want)
		}
	}
}

// loadBench loads a measured table, or skips.
func loadBench(t testing.TB, path ...string) []data.Measurement {
	t.Helper()
	file := filepath.Join(append([]string{bench.Dir(t)}, path...)...)
	ms, _, err := data.LoadMeasurements(file)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// On a measured job the default family predicts larger configurations from
// smaller ones to a few per cent, far better than Amdahl's law.
func TestForwardOnMeasuredJob(t *testing.T) {
	ms := loadBench(t, "allreduce", "imagenet-a100-placements.csv")
	v := validate(t, ms, nil, ValidationSettings{Method: Forward, Families: []string{"auto", "amdahl"}})
	total := v.Totals()
	if total[0].MAPE > 15 || total[0].Coverage < 75 || total[1].MAPE < 1.5*total[0].MAPE {
		t.Errorf("auto and amdahl: %+v", total)
	}
}
