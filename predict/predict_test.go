package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/fit/speed/form"
)

// truth is a made-up job that scales well to about 8 workers.
var truth = form.Published("pollux", data.AllReduce, 1, .02, .002, .08, .01, .02, .004, 1.5)

func measureTruth(t testing.TB, gpuType string, slow float64) []data.Measurement {
	t.Helper()
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8, 16} {
		for _, b := range []float64{16, 32, 64} {
			c := data.Config{Job: "made-up", GPUType: gpuType, Mode: data.AllReduce, Workers: k, LocalBatch: b, Placement: data.EvenPlacement(k, (k+3)/4)}
			ms = append(ms, data.Measurement{Config: c, StepTime: slow * truth.StepTime(c), Status: data.OK})
		}
	}
	return ms
}

func newModel(t testing.TB) *fit.Model {
	t.Helper()
	m, err := fit.Fit(append(measureTruth(t, "a100", 1), measureTruth(t, "t4", 3)...), fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// curve is a training run at batch 64 with noise scale 64·var/sqr.
func curve(phi float64) []data.CurvePoint {
	nan := math.NaN()
	var ps []data.CurvePoint
	for i := range 400 {
		x := float64(i+1) * 100
		ps = append(ps, data.CurvePoint{Step: x, Epoch: nan, Progress: nan, Loss: 1/(.002*x+1) + .05, Metric: nan, GlobalBatch: 64, GradSqr: 64, GradVar: phi})
	}
	return ps
}

func TestAtIsConsistent(t *testing.T) {
	m := newModel(t)
	if err := m.AddCurve(curve(512), data.Batch{Initial: 64}, convergence.Settings{}); err != nil {
		t.Fatal(err)
	}
	p := &Predictor{Model: m, Goal: Goal{Steps: 1000}, Price: map[string]float64{"a100": 3}}
	a, err := p.At(data.Config{GPUType: "a100", Workers: 4, LocalBatch: 32})
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s = %g, want %g", what, got, want)
		}
	}
	near("throughput", a.Throughput.Mean, 128/a.StepTime.Mean)
	near("throughput lo", a.Throughput.Lo, 128/a.StepTime.Hi)
	near("efficiency", a.Efficiency.Mean, (512.+64)/(512+128))
	near("goodput", a.Goodput.Mean, a.Throughput.Mean*a.Efficiency.Mean)
	near("time", a.TimeToTarget.Mean, 1000*64/a.Goodput.Mean)
	near("price", a.PricePerHour, 12)
	near("cost", a.CostToTarget.Mean, a.TimeToTarget.Mean*12/3600)
	if a.Config.Mode != data.AllReduce || a.Config.Nodes != 1 || a.Support != 15 || a.Extrapolated {
		t.Errorf("answer %+v", a)
	}
}

func TestGoals(t *testing.T) {
	m := newModel(t)
	c := data.Config{GPUType: "a100", Workers: 4, LocalBatch: 32}
	if _, err := (&Predictor{Model: m, Goal: Goal{Steps: 10}}).At(c); err == nil || !strings.Contains(err.Error(), "batch.initial") {
		t.Errorf("steps without an initial batch: %v", err)
	}
	if _, err := (&Predictor{Model: m, Goal: Goal{HasTarget: true, TargetLoss: .2}}).At(c); !errors.Is(err, fit.ErrNoCurve) {
		t.Errorf("a loss without a curve: %v", err)
	}
	if err := m.AddCurve(curve(512), data.Batch{}, convergence.Settings{}); err != nil {
		t.Fatal(err)
	}
	a, err := (&Predictor{Model: m, Goal: Goal{HasTarget: true, TargetLoss: .1}}).At(c)
	steps := (1/(.1-.05) - 1) / .002 // the curve solved for 0.1 by hand
	if err != nil || math.Abs(a.TimeToTarget.Mean*a.Goodput.Mean/(steps*64)-1) > .02 {
		t.Errorf("%+v, %v; want %.0f steps of 64 samples", a.TimeToTarget, err, steps)
	}
	var never *convergence.NeverReachedError
	if _, err := (&Predictor{Model: m, Goal: Goal{HasTarget: true, TargetLoss: .01}}).At(c); !errors.As(err, &never) {
		t.Errorf("a loss below the floor: %v", err)
	}
	s, err := (&Predictor{Model: m, Goal: Goal{Samples: 5000}}).At(c)
	if err != nil || math.Abs(s.TimeToTarget.Mean-5000/s.Goodput.Mean) > 1e-9 {
		t.Errorf("samples: %+v, %v", s.TimeToTarget, err)
	}
}

// In ps-async a step is one update by one worker: throughput counts its
// samples, efficiency those of all workers.
func TestAsyncThroughput(t *testing.T) {
	truth := form.Published("optimus-async", data.PSAsync, 1, 2.83, 3.92, 0, .11)
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8} {
		c := data.Config{GPUType: "cpu", Mode: data.PSAsync, Workers: k, PS: 4, LocalBatch: 16}
		ms = append(ms, data.Measurement{Config: c, StepTime: truth.StepTime(c), Status: data.OK})
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&Predictor{Model: m}).BestBatch(data.Config{Workers: 4, PS: 4})
	if err != nil || math.Abs(a.Throughput.Mean-16/a.StepTime.Mean) > 1e-9 || a.Config.LocalBatch != 16 {
		t.Errorf("%+v, %v", a, err)
	}
	if want := 16 / truth.StepTime(a.Config); math.Abs(a.Throughput.Mean/want-1) > .05 {
		t.Errorf("throughput %g, want %g", a.Throughput.Mean, want)
	}
}

// The chosen batch is no worse than any allowed whole local batch, up to the
// gaps between round ones.
func TestBestBatchIsBest(t *testing.T) {
	m := newModel(t)
	rapid.Check(t, func(t *rapid.T) {
		phi := math.Exp(rapid.Float64Range(2, 9).Draw(t, "ln phi"))
		if err := m.AddCurve(curve(phi)[:20], data.Batch{Initial: 64}, convergence.Settings{}); err != nil {
			t.Fatal(err)
		}
		p := &Predictor{Model: m, Batch: data.Batch{Initial: 64, Max: 2048, Adapt: true}}
		goodput := func(c data.Config) float64 {
			s, err := m.Predict(c)
			if err != nil {
				t.Fatal(err)
			}
			return c.SamplesPerStep() / s.Median * m.NoiseScale().Efficiency(c.GlobalBatch()).Mean
		}
		c := data.Config{GPUType: "a100", Workers: rapid.IntRange(1, 16).Draw(t, "workers")}
		a, err := p.BestBatch(c)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Config
		if got.LocalBatch < 16 || got.LocalBatch > 64 || got.LocalBatch != math.Trunc(got.LocalBatch) || got.GlobalBatch() < 64 {
			t.Fatalf("chose %v", got)
		}
		for b := 16.; b <= 64; b += 4 {
			c.LocalBatch = b
			if c.GlobalBatch() < 64 {
				continue
			}
			if other, chosen := goodput(c), goodput(got); other > 1.05*chosen {
				t.Fatalf("%v has goodput %g, chose %v with %g", c, other, got, chosen)
			}
		}
	})
}

// Within a standard error of the best goodput, BestBatch chooses a measured
// batch (16, 32, 64) or a power of two.
func TestBestBatchIsPlainWithinAStandardError(t *testing.T) {
	m, given := newModel(t), 0
	for _, phi := range []float64{50, 100, 200, 400, 800} {
		if err := m.AddCurve(curve(phi)[:20], data.Batch{Initial: 64}, convergence.Settings{}); err != nil {
			t.Fatal(err)
		}
		p := &Predictor{Model: m, Batch: data.Batch{Initial: 64, Max: 2048, Adapt: true}}
		for k := 1; k <= 16; k++ {
			at := func(b float64) Answer {
				a, err := p.At(data.Config{GPUType: "a100", Workers: k, LocalBatch: b})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			got, err := p.BestBatch(data.Config{GPUType: "a100", Workers: k})
			if err != nil || got.Config.AccumSteps > 0 {
				continue // one worker accumulates to the initial batch
			}
			best, plainest := 0., 0.
			for _, b := range []float64{16, 20, 24, 28, 32, 40, 48, 56, 64} {
				if g := at(b).Goodput.Mean; float64(k)*b >= 64 && g > best {
					best = g
				}
				if g := at(b).Goodput.Mean; float64(k)*b >= 64 && plain(b, nil) {
					plainest = max(plainest, g)
				}
			}
			if plain(got.Config.LocalBatch, nil) {
				if got.Goodput.Mean < best {
					given++
				}
				continue
			}
			if within := math.Pow(got.Goodput.Lo/got.Goodput.Mean, 1/1.6449) * got.Goodput.Mean; plainest > 1.001*within {
				t.Errorf("φ %g, %d workers: chose %v with goodput %g, and %g is within a standard error, %g", phi, k, got.Config, got.Goodput.Mean, plainest, within)
			}
		}
	}
	if given == 0 {
		t.Error("no advice gave up the best by less than a standard error, so that the rule was not tried")
	}
}

func TestBestBatchLimits(t *testing.T) {
	m := newModel(t)
	// 16 workers with at least 16 samples each exceed 100.
	p := &Predictor{Model: m, Batch: data.Batch{Initial: 64, Max: 100}}
	if _, err := p.BestBatch(data.Config{GPUType: "a100", Workers: 16}); err == nil || !strings.Contains(err.Error(), "global batch of 64 to 100") {
		t.Errorf("error %v", err)
	}
	// An initial batch above the local range needs accumulation on one worker.
	p.Batch = data.Batch{Initial: 256, Max: 256}
	a, err := p.BestBatch(data.Config{GPUType: "a100", Workers: 1})
	if err != nil || a.Config.GlobalBatch() != 256 || a.Config.AccumSteps != 3 {
		t.Errorf("%v, %v; want 4 micro-steps of 64", a.Config, err)
	}
	// Three workers share 128 samples as 43 each, one above the most.
	p.Batch = data.Batch{Initial: 128, Max: 128, Adapt: true}
	if a, err = p.BestBatch(data.Config{GPUType: "a100", Workers: 3}); err != nil || a.Config.GlobalBatch() != 126 {
		t.Errorf("%v, %v; want 42 samples on each", a.Config, err)
	}
}

func TestFixedGlobalBatchIsKept(t *testing.T) {
	var ms []data.Measurement
	for _, k := range []int{1, 2, 3, 4, 6} {
		c := data.Config{GPUType: "cpu", Mode: data.PSSync, Workers: k, PS: 2, LocalBatch: 32 / float64(k)}
		ms = append(ms, data.Measurement{Config: c, StepTime: 1 + 2/float64(k), Status: data.OK})
	}
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&Predictor{Model: m, Goal: Goal{Steps: 10}}).BestBatch(data.Config{Workers: 5, PS: 2})
	if err != nil || math.Abs(a.Config.GlobalBatch()-32) > 1e-9 || a.Extrapolated {
		t.Fatalf("%+v, %v", a, err)
	}
	if math.Abs(a.TimeToTarget.Mean/(10*a.StepTime.Mean)-1) > 1e-9 {
		t.Errorf("10 steps of %g s take %g s", a.StepTime.Mean, a.TimeToTarget.Mean)
	}
	// Six workers are faster than four, and cannot have 5.33 samples each, unless they must.
	for workers, want := range map[int]int{1: 4, 5: 6} {
		var candidates []data.Config
		for ; workers <= 6; workers++ {
			candidates = append(candidates, data.Config{Workers: workers, PS: 2})
		}
		if best, err := Best(&Predictor{Model: m}, candidates, Limits{}); err != nil || best.Config.Workers != want {
			t.Errorf("best of %d candidates: %v, %v; want %d workers", len(candidates), best.Config, err, want)
		}
	}
}

func TestSweepAndKnee(t *testing.T) {
	p := &Predictor{Model: newModel(t)}
	answers, err := Sweep(p, data.Config{GPUType: "a100", LocalBatch: 32}, []int{16, 1, 2, 8, 4, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range []int{1, 2, 4, 8, 16} {
		if answers[i].Config.Workers != k || answers[i].Config.LocalBatch != 32 {
			t.Errorf("answer %d is %v, want %d workers", i, answers[i].Config, k)
		}
	}
	if _, err := Sweep(p, data.Config{GPUType: "a100"}, nil); err == nil {
		t.Error("no workers were accepted")
	}
	if _, err := Sweep(p, data.Config{GPUType: "h100"}, []int{3}); err == nil || !strings.Contains(err.Error(), "3 workers") {
		t.Errorf("error %v", err)
	}
}

func curveOf(goodputs map[int]float64, ks ...int) []Answer {
	var as []Answer
	for _, k := range ks {
		g := goodputs[k]
		as = append(as, Answer{Config: data.Config{Workers: k}, Goodput: data.Estimate{Mean: g, Lo: g, Hi: g}})
	}
	return as
}

func TestKneeCases(t *testing.T) {
	ks := []int{1, 2, 4, 8, 16}
	tests := []struct {
		name string
		g    map[int]float64
		want int // workers
	}{
		{"linear", map[int]float64{1: 1, 2: 2, 4: 4, 8: 8, 16: 16}, 16},
		{"flat at once", map[int]float64{1: 1, 2: 1.1, 4: 1.2, 8: 1.2, 16: 1.2}, 1},
		{"knee at 4", map[int]float64{1: 1, 2: 1.9, 4: 3.2, 8: 4.2, 16: 4.5}, 4},
		{"peak at 8", map[int]float64{1: 1, 2: 1.9, 4: 3.6, 8: 6, 16: 5}, 8},
		{"dip made good for", map[int]float64{1: 1, 2: 1.2, 4: 3, 8: 5, 16: 5.5}, 8},
	}
	for _, tt := range tests {
		as := curveOf(tt.g, ks...)
		if got := as[Knee(as)].Config.Workers; got != tt.want {
			t.Errorf("%s: knee at %d workers, want %d", tt.name, got, tt.want)
		}
	}
	if Knee(nil) != -1 || Knee(curveOf(map[int]float64{1: 0, 2: 0}, 1, 2)) != -1 {
		t.Error("a curve that is empty, or of unknown batches, has no knee")
	}
}

func TestKneeIsNeverBeyondThePeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var as []Answer
		peak, top := 0, 0.
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			g := rapid.Float64Range(.1, 10).Draw(t, "goodput")
			as = append(as, curveOf(map[int]float64{i + 1: g}, i+1)...)
			if g > top {
				peak, top = i, g
			}
		}
		if k := Knee(as); k > peak {
			t.Fatalf("knee at index %d, peak at %d", k, peak)
		}
	})
}

func TestBest(t *testing.T) {
	p := &Predictor{Model: newModel(t), Goal: Goal{Samples: 1e6}, Price: map[string]float64{"a100": 4, "t4": 1}}
	var candidates []data.Config
	for _, g := range []string{"a100", "t4"} {
		for _, k := range []int{1, 2, 4, 8, 16} {
			candidates = append(candidates, data.Config{GPUType: g, Workers: k, LocalBatch: 32})
		}
	}
	fastest, err := Best(p, candidates, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Duration(2 * fastest.TimeToTarget.Mean * 1e9)
	cheapest, err := Best(p, candidates, Limits{Deadline: deadline})
	if err != nil {
		t.Fatal(err)
	}
	pays, err := Best(p, candidates, Limits{Budget: 1.01 * cheapest.CostToTarget.Mean})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range candidates {
		a, err := p.At(c)
		if err != nil {
			t.Fatal(err)
		}
		if a.TimeToTarget.Mean < fastest.TimeToTarget.Mean {
			t.Errorf("%v is faster than %v", c, fastest.Config)
		}
		if a.TimeToTarget.Mean <= deadline.Seconds() && a.CostToTarget.Mean < cheapest.CostToTarget.Mean {
			t.Errorf("%v is cheaper than %v", c, cheapest.Config)
		}
		if a.CostToTarget.Mean <= 1.01*cheapest.CostToTarget.Mean && a.TimeToTarget.Mean < pays.TimeToTarget.Mean {
			t.Errorf("%v is affordable and faster than %v", c, pays.Config)
		}
	}
	var none *NoneFitsError
	_, err = Best(p, candidates, Limits{Deadline: time.Second})
	if !errors.As(err, &none) || none.Nearest.Config.Key() != fastest.Config.Key() || !strings.Contains(err.Error(), "against a deadline of 1s") {
		t.Errorf("a deadline of a second: %v", err)
	}
	_, err = Best(p, candidates, Limits{Budget: .001})
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "against a budget of $0.00") {
		t.Errorf("a budget of nothing: %v", err)
	}
}

func TestBestRefuses(t *testing.T) {
	m := newModel(t)
	c := []data.Config{{GPUType: "a100", Workers: 1, LocalBatch: 32}}
	tests := []struct {
		name string
		p    Predictor
		c    []data.Config
		l    Limits
		want string
	}{
		{"no goal", Predictor{Model: m}, c, Limits{Deadline: time.Hour}, "goal"},
		{"no price", Predictor{Model: m, Goal: Goal{Samples: 1}}, c, Limits{Budget: 1}, "price"},
		{"no price of this type", Predictor{Model: m, Goal: Goal{Samples: 1}, Price: map[string]float64{"t4": 1}}, c, Limits{Budget: 1}, "no price for a100"},
		{"no candidates", Predictor{Model: m}, nil, Limits{}, "at least one configuration"},
		{"unknown GPU", Predictor{Model: m}, []data.Config{{GPUType: "h100", Workers: 1}}, Limits{}, "h100"},
		{"no model", Predictor{}, c, Limits{}, "no model"},
	}
	for _, tt := range tests {
		if _, err := Best(&tt.p, tt.c, tt.l); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func ExampleKnee() {
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8, 16} {
		ms = append(ms, data.Measurement{
			Config:   data.Config{Job: "resnet", GPUType: "a100", Workers: k, Placement: data.Placement{k}, LocalBatch: 64},
			StepTime: .1 + .02*float64(k-1), Status: data.OK,
		})
	}
	model, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := &Predictor{Model: model}
	answers, err := Sweep(p, data.Config{LocalBatch: 64}, []int{1, 2, 4, 8, 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("the knee is at %d workers\n", answers[Knee(answers)].Config.Workers)
	// Output: the knee is at 4 workers
}

// The time to a loss does not depend on the reference batch of efficiency.
func TestInitialBatchDoesNotChangeTheTime(t *testing.T) {
	m := newModel(t)
	if err := m.AddCurve(curve(512), data.Batch{}, convergence.Settings{}); err != nil {
		t.Fatal(err)
	}
	c := data.Config{GPUType: "a100", Workers: 4, LocalBatch: 64}
	at := func(b data.Batch) Answer {
		a, err := (&Predictor{Model: m, Batch: b, Goal: Goal{HasTarget: true, TargetLoss: .1}}).At(c)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	own, other := at(data.Batch{}), at(data.Batch{Initial: 16})
	if math.Abs(other.TimeToTarget.Mean/own.TimeToTarget.Mean-1) > 1e-9 {
		t.Errorf("%g s relative to batch 64, %g s relative to batch 16", own.TimeToTarget.Mean, other.TimeToTarget.Mean)
	}
	if want := (512. + 16) / (512 + 256); math.Abs(other.Efficiency.Mean-want) > 1e-9 {
		t.Errorf("efficiency %g at batch 256 relative to 16, want %g", other.Efficiency.Mean, want)
	}
}

// The chosen batch is no slower than any measured one, is round, and
// accumulates only if allowed.
func TestAdviceIsRoundAndNoSlower(t *testing.T) {
	m := newModel(t)
	for _, k := range []int{1, 2, 4} {
		for _, accumulate := range []bool{false, true} {
			p := &Predictor{Model: m, Batch: data.Batch{Initial: 16, Max: 256}, Accumulate: accumulate}
			a, err := p.BestBatch(data.Config{GPUType: "a100", Workers: k})
			if err != nil {
				t.Fatal(err)
			}
			if !accumulate && a.Config.AccumSteps > 0 {
				t.Errorf("%d workers: %d accumulation steps that nobody allowed", k, a.Config.AccumSteps)
			}
			if b := a.Config.LocalBatch; !slices.Contains([]float64{16, 20, 24, 28, 32, 40, 48, 56, 64}, b) {
				t.Errorf("%d workers: local batch %g is neither measured nor round", k, b)
			}
			for _, b := range []float64{16, 32, 64} {
				if other, err := p.At(data.Config{GPUType: "a100", Workers: k, LocalBatch: b}); err != nil || float64(k)*b <= 256 && other.Goodput.Mean > a.Goodput.Mean*(1+1e-9) {
					t.Errorf("%d workers: %+v is slower than local batch %g: %g against %g samples/s, %v", k, a.Config, b, a.Goodput.Mean, other.Goodput.Mean, err)
				}
			}
		}
	}
}

func TestWideGainsAreFactors(t *testing.T) {
	g := Gain{Config: data.Config{Workers: 2}, Target: data.Config{Workers: 8}}
	for want, half := range map[string][2]float64{
		"2 workers, allreduce: would narrow the prediction for 8 workers from a factor of 23 to about ±20 %": {21.9, .2},
		"2 workers, allreduce: would narrow the prediction for 8 workers from a factor of 211 to about ±1 %": {210, .001},
	} {
		g.Before, g.After = half[0], half[1]
		if got := g.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
