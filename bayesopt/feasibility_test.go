package bayesopt

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"knee/data"
)

// layouts is a grid of batches and tensor-parallel degrees.
func layouts() []data.Config {
	var cands []data.Config
	for _, tp := range []int{1, 2, 4, 8} {
		for _, b := range []float64{1, 2, 4, 8, 16} {
			cands = append(cands, data.Config{GPUType: "a100", Workers: 8, LocalBatch: b, Layout: data.Layout{TP: tp}})
		}
	}
	return cands
}

// b ≤ 2·tp fits. After eight trials the classifier ranks the others
// accordingly.
func TestFeasibilityLearnsABoundary(t *testing.T) {
	cands := layouts()
	room := func(c data.Config) float64 {
		return math.Log2(2 * float64(c.TP) / c.LocalBatch)
	}
	h := History{Candidates: cands}
	for _, i := range []int{0, 2, 6, 8, 11, 13, 15, 19} {
		m := data.Measurement{Config: cands[i], Status: data.OK, StepTime: 1}
		if room(cands[i]) < 0 {
			m = data.Measurement{Config: cands[i], Status: data.OOM}
		}
		h.Measured = append(h.Measured, m)
	}
	p := mustProblem(t, Options{}, h)
	for i, c := range cands {
		if r := room(c); r >= 1 && p.fits[i] < 0.7 || r <= -2 && p.fits[i] > 0.3 {
			t.Errorf("%s with %.0f doublings to spare fits with probability %.2f", c, r, p.fits[i])
		}
	}
}

// A trial that hangs without a step gives no time, as one that fails; one whose steps
// are too long did fit, and what was measured does.
func TestFeasibilityOfTimeouts(t *testing.T) {
	cands := layouts()
	chance := func(bound float64, status data.Status) []float64 {
		h := History{Candidates: cands, Measured: []data.Measurement{{Config: cands[0], Status: data.OK, StepTime: 1}}}
		for i := 10; i < 18; i++ {
			h.Measured = append(h.Measured, data.Measurement{Config: cands[i], Status: status, StepTime: bound})
		}
		return mustProblem(t, Options{}, h).fits
	}
	hung, failed, slow := chance(0, data.Timeout), chance(0, data.Failed), chance(60, data.Timeout)
	if hung[19] != failed[19] || !(hung[19] < slow[19]) || !(hung[0] > .9) {
		t.Errorf("probabilities %.2f after hangs, %.2f after failures, %.2f after slow trials; %g of a measured one", hung[19], failed[19], slow[19], hung[0])
	}
}

// Without failures a space is expected to fit, before the first trial and after
// ten.
func TestNothingFailed(t *testing.T) {
	cands := table("a100", "t4")
	h := History{Candidates: cands}
	for range 2 {
		p := mustProblem(t, Options{}, h)
		for i, c := range cands {
			if p.fits[i] < 0.85 {
				t.Errorf("after %d successes %s fits with probability %.2f", len(h.Measured), c, p.fits[i])
			}
		}
		for i := 0; i < len(cands); i += 4 {
			h.Measured = append(h.Measured, measure(cands[i]))
		}
	}
}

// half predicts that batches up to 4 fit, except for tp 8, of which it knows
// nothing.
func half([]data.Measurement) func(data.Config) (float64, bool) {
	return func(c data.Config) (float64, bool) {
		if c.LocalBatch <= 4 {
			return 1, c.TP != 8
		}
		return 0, c.TP != 8
	}
}

// A memory model takes precedence where it covers a candidate; the classifier
// covers the rest.
func TestMemoryModelSpeaksFirst(t *testing.T) {
	cands := layouts()
	p := mustProblem(t, Options{Memory: half}, History{Candidates: cands})
	plain := mustProblem(t, Options{}, History{Candidates: cands})
	for i, c := range cands {
		want, ok := half(nil)(c)
		if !ok {
			want = plain.fits[i]
		}
		if p.fits[i] != want {
			t.Errorf("%s fits with probability %g, want %g", c, p.fits[i], want)
		}
	}
}

func mustProblem(t *testing.T, o Options, h History) *Problem {
	t.Helper()
	o, err := o.Validate()
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProblem(o, h)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The score of a trial falls with its probability of failure and the cost of
// it; a trial with more to lose than to gain has none.
func TestLess(t *testing.T) {
	failureCost := LearnedConstants().FailureCost
	worth := func(gain, fits float64) float64 { return less(math.Log(gain*fits), failureCost*(1-fits)) }
	if v := worth(0.5, 1); math.Abs(v-math.Log(0.5)) > 1e-12 {
		t.Errorf("a certain gain of 0.5 is worth e^%g", v)
	}
	if v, want := worth(0.5, 0.8), 0.4-failureCost*0.2; math.Abs(v-math.Log(want)) > 1e-12 {
		t.Errorf("a gain of 0.5 that fits with probability 0.8 is worth e^%g, want %g", v, want)
	}
	if safe, certain, none := worth(1e-9, 0.99), worth(1e-9, 1), less(math.Inf(-1), 0); !math.IsInf(safe, -1) || math.IsInf(certain, -1) || !math.IsInf(none, -1) {
		t.Errorf("of hardly any gain: certain e^%g, safe e^%g; of none: e^%g; want only the first above 0", certain, safe, none)
	}
}

// Correct scores keep the bias at zero; eleven failures scored at even odds
// lower it, eleven successes raise it.
func TestBiasOfTheClassifier(t *testing.T) {
	for _, c := range []struct {
		score    float64
		fits     []bool
		low, top float64
	}{
		{0, slices.Repeat([]bool{true, false}, 6), -0.01, 0.01},
		{0, make([]bool, 11), -2.5, -1},
		{0, slices.Repeat([]bool{true}, 11), 1, 2.5},
		{-3, make([]bool, 11), -0.1, 0},
	} {
		h := &headroom{}
		h.learnBias(slices.Repeat([]float64{c.score}, len(c.fits)), c.fits, slices.Repeat([]float64{1}, len(c.fits)))
		if h.bias < c.low || h.bias > c.top {
			t.Errorf("scores of %g, of which %v fitted: bias %.3f, want %g to %g", c.score, c.fits, h.bias, c.low, c.top)
		}
	}
}

// Rows beyond one cliff fit together or not: drawn with their own probabilities, but any
// of eight fits less often than if they were independent.
func TestWhatFitsIsDrawnJointly(t *testing.T) {
	h := History{}
	for _, b := range []float64{8, 16, 32, 64, 128, 256} {
		for k := range 8 {
			c := data.Config{Workers: 8, LocalBatch: b, Extra: map[string]string{"bucket": strconv.Itoa(1 << k)}}
			h.Candidates = append(h.Candidates, c)
			if k%4 == 0 && b <= 64 {
				h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: 1})
			} else if k%4 == 0 && b == 256 {
				h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OOM})
			}
		}
	}
	p := mustProblem(t, Options{}, h)
	var of []int // batch 128
	for i, c := range h.Candidates {
		if c.LocalBatch == 128 {
			of = append(of, i)
		}
	}
	const draws = 4000
	fitting, share, any, none := p.fitting(of, p.Rand()), make([]float64, len(of)), 0., 1.
	for range draws {
		fits := fitting()
		for k := range fits {
			if fits[k] {
				share[k] += 1. / draws
			}
		}
		if slices.Contains(fits, true) {
			any += 1. / draws
		}
	}
	for k, i := range of {
		if none *= 1 - p.fits[i]; math.Abs(share[k]-p.fits[i]) > .03 {
			t.Errorf("%s fits in %.3f of the draws, want %.3f", h.Candidates[i], share[k], p.fits[i])
		}
	}
	if one := slices.Max(share); any-one > (1-none-one)/2 {
		t.Errorf("any fits in %.3f of the draws, one in %.3f; %.3f if they were independent", any, one, 1-none)
	}
}

// fp8 fails wherever it is tried, others run: after three failures it works elsewhere with
// a probability of about 10 %, the others as before, and a smaller batch of what ran fits.
func TestForbiddenValues(t *testing.T) {
	at := func(workers int, b float64, prec string) data.Config {
		return data.Config{Workers: workers, LocalBatch: b, Extra: map[string]string{"prec": prec}}
	}
	h := History{}
	for _, workers := range []int{1, 2, 4, 8} {
		for _, b := range []float64{16, 32, 64, 128} {
			h.Candidates = append(h.Candidates, at(workers, b, "fp32"), at(workers, b, "bf16"), at(workers, b, "fp8"))
		}
	}
	for _, c := range []data.Config{at(1, 16, "fp32"), at(1, 64, "bf16"), at(8, 128, "bf16"), at(8, 128, "fp32")} {
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: 1})
	}
	before := mustProblem(t, Options{}, h)
	for _, c := range []data.Config{at(8, 128, "fp8"), at(4, 128, "fp8"), at(8, 64, "fp8")} {
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.Failed})
	}
	after := mustProblem(t, Options{}, h)
	for i, c := range h.Candidates {
		switch p := after.fits[i]; {
		case c.Extra["prec"] == "fp8":
			if p < .02 || p > .15 {
				t.Errorf("%s works with probability %.3f, want at most about 0.1", c, p)
			}
		case math.Abs(p-before.fits[i]) > .05, c.Workers == 8 && p < .95:
			t.Errorf("%s works with probability %.2f, %.2f before", c, p, before.fits[i])
		}
	}
	fitting, any := after.fitting([]int{2, 5, 14}, after.Rand()), 0.
	for range 1000 { // fp8 elsewhere: together or not
		if slices.Contains(fitting(), true) {
			any += 1. / 1000
		}
	}
	if any > .2 {
		t.Errorf("any of three works with probability %.2f, want about that of one", any)
	}
}

// Where all trials of many workers crash, those in between and beyond probably do; where
// all of one precision crash as well, so do both. Nothing becomes certain.
func TestForbiddenRanges(t *testing.T) {
	at := func(workers int, prec string) data.Config {
		return data.Config{Workers: workers, LocalBatch: 8, Extra: map[string]string{"prec": prec}}
	}
	h := History{}
	for _, prec := range []string{"bf16", "fp32", "fp8"} {
		for workers := 1; workers <= 64; workers *= 2 {
			h.Candidates = append(h.Candidates, at(workers, prec))
		}
	}
	for _, c := range []data.Config{at(1, "bf16"), at(2, "bf16"), at(4, "fp32"), at(8, "fp32"), at(8, "bf16"), at(2, "fp32")} {
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: 1})
	}
	for _, c := range []data.Config{at(16, "bf16"), at(64, "bf16"), at(16, "fp32"), at(64, "fp32"), at(1, "fp8"), at(2, "fp8"), at(8, "fp8")} {
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.Failed})
	}
	p := mustProblem(t, Options{}, h)
	for i, c := range h.Candidates {
		f, forbidden := p.allowed(p.Points[i]), c.Workers > 8 || c.Extra["prec"] == "fp8"
		if f <= 0 || forbidden != (f < .5) || !forbidden && f < .8 {
			t.Errorf("%s is not forbidden with probability %.3f", c, f)
		}
	}
}

// A knob with a zero among its numbers is in units of its range, and out-of-memory trials
// teach its weight like that of others.
func TestKnobsWithZeroTeachFeasibility(t *testing.T) {
	h := History{}
	for _, workers := range []int{1, 2, 4, 8} {
		for _, b := range []float64{16, 32, 64} {
			for _, bucket := range []string{"0", "16384", "32768", "65536"} {
				h.Candidates = append(h.Candidates, data.Config{Workers: workers, LocalBatch: b, Extra: map[string]string{"bucket_kb": bucket}})
			}
		}
	}
	for i := 0; i < len(h.Candidates); i += 5 {
		m := data.Measurement{Config: h.Candidates[i], Status: data.OK, StepTime: 1}
		if m.LocalBatch == 64 && m.Extra["bucket_kb"] != "0" {
			m.Status = data.OOM
		}
		h.Measured = append(h.Measured, m)
		p := mustProblem(t, Options{}, h)
		p.fitting([]int{0, 1, 2}, p.Rand())()
		if m := slices.Max(p.headrooms.mean); m > 10 {
			t.Fatalf("after %d trials: a weight of %g doublings", len(h.Measured), m)
		}
	}
}

// Whole jobs do not tell why they failed: it may have been for lack of memory.
func TestCrashesOfWholeJobs(t *testing.T) {
	cands := layouts()
	h := History{Candidates: cands, Measured: []data.Measurement{{Config: cands[5], Status: data.OK, StepTime: 1}, {Config: cands[4], Status: data.Failed}, {Config: cands[3], Status: data.Failed}}}
	steps, jobs := mustProblem(t, Options{}, h), mustProblem(t, Options{JobTime: true}, h)
	if i := 9; !(jobs.fits[i] < steps.fits[i]) {
		t.Errorf("%s fits with probability %.2f after crashes of jobs, %.2f of steps; want less", cands[i], jobs.fits[i], steps.fits[i])
	}
	if i := 10; math.Abs(steps.memory[i]-mustProblem(t, Options{}, History{Candidates: cands, Measured: h.Measured[:1]}).memory[i]) > 1e-9 {
		t.Errorf("crashes of steps tell on memory of %s", cands[i])
	}
}

// Plain data parallelism needs as much memory on two workers as on any more, and no less
// than on one: what ran or ran out of memory says so of others. On processors, whose
// workers share memory, for batches that are not known and for whole jobs it does not.
func TestDataParallelismNeedsTheSameMemory(t *testing.T) {
	cands := func(gpu string, batches ...float64) (all []data.Config) {
		for _, k := range []int{1, 2, 4, 16} {
			for _, b := range batches {
				all = append(all, data.Config{GPUType: gpu, Workers: k, Nodes: (k + 3) / 4, LocalBatch: b})
			}
		}
		return all
	}
	fits := func(o Options, all []data.Config, worked, failed int) []float64 {
		return mustProblem(t, o, History{Candidates: all, Measured: []data.Measurement{
			{Config: all[worked], Status: data.OK, StepTime: 1}, {Config: all[failed], Status: data.OOM}}}).memory
	}
	all := cands("a100", 8, 64, 128)
	for i, p := range fits(Options{}, all, 7, 2) { // 4 × 64 worked, 1 × 128 did not fit
		if b := all[i].LocalBatch; b <= 64 && p != 1 || b == 128 && p > .01 {
			t.Errorf("%s fits with probability %g", all[i], p)
		}
	}
	for i, p := range fits(Options{}, all, 1, 8) { // 1 × 64 worked, 4 × 128 did not fit
		if c := all[i]; c.Workers == 1 && (c.LocalBatch <= 64) != (p == 1) || c.Workers > 1 && (c.LocalBatch == 128) != (p < .01) {
			t.Errorf("%s fits with probability %g", c, p)
		}
	}
	for name, p := range map[string][]float64{
		"processors": fits(Options{}, cands("cpu", 8, 64, 128), 7, 2), "no batch": fits(Options{}, cands("a100", 0), 2, 0),
		"whole jobs": fits(Options{Objective: StepTime, JobTime: true}, all, 7, 2),
	} {
		if last := p[len(p)-1]; last == 1 || last < .01 {
			t.Errorf("%s: the last fits with probability %g, want neither certainty", name, last)
		}
	}
}

// Where two values crash together, each works with others; and where trials crash whatever
// they have, a trial works as often as that.
func TestForbiddenPairs(t *testing.T) {
	h := History{}
	for _, attention := range []string{"math", "sdpa", "flash"} {
		for _, precision := range []string{"fp32", "tf32", "bf16"} {
			for _, batch := range []float64{8, 16, 32} {
				h.Candidates = append(h.Candidates, data.Config{Workers: 1, LocalBatch: batch, Extra: map[string]string{"attn": attention, "prec": precision}})
			}
		}
	}
	crashes := func(c data.Config) bool { return c.Extra["attn"] == "flash" && c.Extra["prec"] != "bf16" }
	for i := 0; i < len(h.Candidates); i += 2 {
		m := data.Measurement{Config: h.Candidates[i], Status: data.OK, StepTime: 1}
		if crashes(m.Config) {
			m.Status = data.Failed
		}
		h.Measured = append(h.Measured, m)
	}
	p := mustProblem(t, Options{}, h)
	for i, c := range h.Candidates {
		if f := p.fits[i]; crashes(c) != (f < .5) {
			t.Errorf("%s works with probability %.2f", c, f)
		}
	}
	for i := range h.Measured {
		if h.Measured[i].Status = data.Failed; i%7 == 0 {
			h.Measured[i].Status, h.Measured[i].StepTime = data.OK, 1
		}
	}
	p = mustProblem(t, Options{}, h)
	if f := p.fits[1]; f > .5 {
		t.Errorf("with two of 14 trials working, another works with probability %.2f", f)
	}
}
