package speed

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed/form"
)

// knobRow is a row of a job with time ∝ width, halved with fp16.
func knobRow(k, width int, precision string) data.Measurement {
	m := measured(k, 32, .001*float64(width)*(1+.05*float64(k-1)))
	if precision == "fp16" {
		m.StepTime /= 2
	}
	m.Extra = map[string]string{"width": fmt.Sprint(width), "precision": precision}
	return m
}

// Several knobs, a number and a word, predict unmeasured combinations and
// values.
func TestKnobsCount(t *testing.T) {
	var ms []data.Measurement
	for i, k := range []int{1, 1, 2, 2, 4, 4, 1, 2} {
		ms = append(ms, knobRow(k, []int{64, 128, 96, 128, 64, 96, 64, 64}[i], []string{"fp32", "fp16"}[i/2%2]))
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []data.Measurement{knobRow(4, 128, "fp16"), knobRow(1, 96, "fp32"), knobRow(2, 192, "fp32")} {
		p, err := m.Predict(want.Config)
		if err != nil || math.Abs(math.Log(p.StepTime.Mean/want.StepTime)) > .15 || p.StepTime.Lo > want.StepTime || p.StepTime.Hi < want.StepTime {
			t.Errorf("%v: %+v, want %.4g; error %v", want.Config, p, want.StepTime, err)
		}
	}
	p, _ := m.Predict(knobRow(2, 192, "fp32").Config)
	if !p.Extrapolated || !strings.Contains(p.Why, "x_width 192, measured 64 to 128") {
		t.Errorf("a width never measured: %+v", p)
	}
}

// An unmeasured value is extrapolated and less certain, also of a constant
// knob. An invalid number is refused.
func TestKnobsNeverMeasured(t *testing.T) {
	ms := []data.Measurement{knobRow(1, 64, "fp32"), knobRow(2, 64, "fp32"), knobRow(4, 64, "fp32")}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	width := func(c data.Config) float64 {
		p, err := m.Predict(c)
		if err != nil {
			t.Fatal(err)
		}
		if c.Extra != nil && (!p.Extrapolated || !strings.Contains(p.Why, "x_")) {
			t.Errorf("%v: %+v", c, p)
		}
		return math.Log(p.StepTime.Hi / p.StepTime.Lo)
	}
	at := width(data.Config{Workers: 2, LocalBatch: 32})
	word := width(data.Config{Workers: 2, LocalBatch: 32, Extra: map[string]string{"precision": "fp8"}})
	number := width(data.Config{Workers: 2, LocalBatch: 32, Extra: map[string]string{"width": "256"}})
	if word < 1.1*at || number < 1.1*at {
		t.Errorf("ln of the interval's width is %.3f at what was measured, %.3f with a new word, %.3f at a new number", at, word, number)
	}
	for _, bad := range []string{"wide", "-3", "0", ""} {
		_, err := m.Predict(data.Config{Workers: 2, LocalBatch: 32, Extra: map[string]string{"width": bad}})
		if err == nil || !strings.Contains(err.Error(), "x_width") {
			t.Errorf("width %q: error %v", bad, err)
		}
	}
}

// TestSwitchMeasuredOn: a knob that is 1 in every row can be asked at 0, which is
// extrapolated and uncertain.
func TestSwitchMeasuredOn(t *testing.T) {
	var ms []data.Measurement
	for i := range 3 {
		m := measured(1<<i, 32, .1+.02*float64(i))
		m.Extra = map[string]string{"compile": "1"}
		ms = append(ms, m)
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	on, _ := m.Predict(ms[0].Config)
	off, err := m.Predict(data.Config{Workers: 1, LocalBatch: 32, Extra: map[string]string{"compile": "0"}})
	if err != nil || !off.Extrapolated || off.StepTime.Hi/off.StepTime.Lo < 2*on.StepTime.Hi/on.StepTime.Lo {
		t.Errorf("on %+v, off %+v, error %v", on, off, err)
	}
}

// Three rows with four knobs give predictions with wide intervals.
// Whether a knob counts by its logarithm is decided by all rows of a job, those
// to predict from the others too.
func TestKnobScaleOfAllRows(t *testing.T) {
	var ms []data.Measurement
	for i, k := range []int{1, 1, 1, 2, 4, 8} {
		m := measured(k, 32, .1+.01*float64(i))
		m.Extra = map[string]string{"prefetch": []string{"2", "4", "8", "0", "0", "0"}[i]}
		ms = append(ms, m)
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := m.Families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scores {
		if len(s.Warnings) > 0 || math.IsNaN(s.Forward) {
			t.Errorf("family %s: %q, forward %v", s.Family, s.Warnings, s.Forward)
		}
	}
	for _, s := range []Settings{{HeldOut: ms[4:]}, {}} {
		fold, err := fitAll(ms[:3], s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fold.Predict(ms[4].Config)
		if (err == nil) != (s.HeldOut != nil) {
			t.Errorf("0 of a knob measured from 2 to 8, held out %d: %v", len(s.HeldOut), err)
		}
	}
}

func TestMoreKnobsThanRows(t *testing.T) {
	var ms []data.Measurement
	for i := range 3 {
		m := measured(1<<i, 32, .1+.02*float64(i))
		m.Extra = map[string]string{"a": fmt.Sprint(1 + i), "b": fmt.Sprint(3 - i), "c": string(rune('x' + i)), "d": fmt.Sprint(i % 2)}
		ms = append(ms, m)
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	known, _ := m.Predict(ms[0].Config)
	open, err := m.Predict(data.Config{Workers: 1, LocalBatch: 32, Extra: map[string]string{"a": "3", "b": "1", "c": "y", "d": "1"}})
	if err != nil || open.StepTime.Hi/open.StepTime.Lo < 1.5*known.StepTime.Hi/known.StepTime.Lo {
		t.Errorf("measured %+v, another combination %+v, error %v", known, open, err)
	}
}

func TestKnobThatLooksLikeALayout(t *testing.T) {
	a, b := measured(8, 4, .2), measured(8, 4, .15)
	a.Extra, b.Extra = map[string]string{"tp": "1"}, map[string]string{"tp": "2"}
	m, err := fitAll([]data.Measurement{a, b}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(m.Warnings(), "; "); !strings.Contains(w, "x_tp looks like a degree of parallelism") {
		t.Errorf("warnings %q", w)
	}
}

// Unmeasured accumulation is extrapolation; a tiny local batch does not panic.
func TestAccumulationIsExtrapolated(t *testing.T) {
	m, err := fitAll([]data.Measurement{measured(1, 32, .2), measured(2, 32, .22)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(data.Config{Workers: 2, LocalBatch: 32, AccumSteps: 3})
	if err != nil || !p.Extrapolated || !strings.Contains(p.Why, "micro-steps 4, measured 1") {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := m.Predict(data.Config{Workers: 2, LocalBatch: 1e-7}); err == nil || !strings.Contains(err.Error(), "local_batch") {
		t.Errorf("a batch of 1e-7: error %v", err)
	}
	if p, err := m.Predict(data.Config{Workers: 2, LocalBatch: 1e-6}); err != nil || !(p.StepTime.Mean > 0) {
		t.Errorf("a batch of 1e-6: %+v, %v", p, err)
	}
}

// If no measurement has nodes, their number is unknown, not one.
func TestUnknownPlacement(t *testing.T) {
	var ms []data.Measurement
	for _, k := range []int{8, 16, 32} {
		ms = append(ms, data.Measurement{Status: data.OK, StepTime: .2, Config: data.Config{Job: "j", GPUType: "a100", Workers: k, LocalBatch: 32}})
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(data.Config{Workers: 64, LocalBatch: 32})
	if err != nil || math.Abs(p.StepTime.Mean/.2-1) > .15 {
		t.Errorf("64 workers: %+v, %v", p, err)
	}
	p, err = m.Predict(data.Config{Workers: 64, Nodes: 8, LocalBatch: 32})
	if err != nil || !strings.Contains(p.Why, "nodes 8, measured without their number") {
		t.Errorf("on 8 nodes: %+v, %v", p, err)
	}
}

// After four sizes of strong scaling at a fixed global batch of 512, near
// linear, the next has about half the time, inside the interval.
func TestStrongScaling(t *testing.T) {
	var ms []data.Measurement
	for i, step := range []float64{79.83, 41.16, 20.31, 10.42} {
		k := 8 << i
		ms = append(ms, data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{Job: "j", GPUType: "h100", Workers: k, Nodes: k / 8, LocalBatch: 512 / float64(k)}})
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(data.Config{Workers: 128, Nodes: 16, LocalBatch: 4})
	if err != nil || math.Abs(p.StepTime.Mean/5.3-1) > .25 || p.StepTime.Lo > 5.3 || p.StepTime.Hi < 5.3 {
		t.Errorf("%+v, want about 5.3; %v", p.StepTime, err)
	}
}

// Without a batch it is unknown whether it grew with the workers: both cases
// are inside the interval.
func TestUnknownBatch(t *testing.T) {
	m, err := fitAll([]data.Measurement{{Status: data.OK, StepTime: 1, Config: data.Config{Job: "j", GPUType: "v100", Workers: 2, Nodes: 1}}}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(data.Config{Workers: 8, Nodes: 1})
	if err != nil || p.StepTime.Lo > .3 || p.StepTime.Hi < 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if w := strings.Join(m.Warnings(), "; "); !strings.Contains(w, "1 of 1 measurements have no batch") {
		t.Errorf("warnings %q", w)
	}
}

func TestWhatIf(t *testing.T) {
	m, err := fitAll(synthetic(24), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	c := data.Config{Workers: 16, Placement: data.Placement{4, 4, 4, 4}, LocalBatch: 16}
	speedup := func(changes ...Change) data.Estimate {
		changed, err := m.WhatIf(changes)
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Speedup(changed, c)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := speedup(Change{"compute", 1}); math.Abs(e.Mean-1) > 1e-9 || math.Abs(e.Hi/e.Lo-1) > 1e-9 {
		t.Errorf("nothing changed: %+v", e)
	}
	if e := speedup(Change{"compute", .5}, Change{"intra_node", .5}, Change{"inter_node", .5}); math.Abs(e.Mean-2) > 1e-6 {
		t.Errorf("everything twice as fast: %+v", e)
	}
	if e := speedup(Change{"overlap", 1}); !(e.Mean > 1) || e.Hi > 2 {
		t.Errorf("perfect overlap: %+v, want more than 1 and at most 2", e)
	}
	if _, err := m.WhatIf([]Change{{"luck", 2}}); err == nil || !strings.Contains(err.Error(), "inter_node") {
		t.Errorf("error %v", err)
	}
}

// Time may be a power of a knob, or constant in part: values that measurements
// do not exclude are inside the interval.
func TestKnobsBeyondTheirValues(t *testing.T) {
	for name, step := range map[string]func(width float64) float64{
		"proportional":               func(w float64) float64 { return w },
		"quadratic":                  func(w float64) float64 { return w * w },
		"constant and proportional":  func(w float64) float64 { return 128 + w },
		"proportional and quadratic": func(w float64) float64 { return w * (1 + w/256) },
	} {
		for values := 1; values <= 3; values++ {
			at := func(doublings, workers int) (data.Config, float64) {
				w := float64(int(128) << doublings)
				return data.Config{Job: "j", GPUType: "a100", Workers: workers, Nodes: 1, LocalBatch: 32, Extra: map[string]string{"width": fmt.Sprint(w)}}, step(w) / 1000
			}
			var ms []data.Measurement
			for i := range values {
				for _, k := range []int{1, 2, 4} {
					c, s := at(i, k)
					ms = append(ms, data.Measurement{Config: c, StepTime: s, Status: data.OK})
				}
			}
			m, err := fitAll(ms, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for beyond := range 2 {
				c, truth := at(values+beyond, 4)
				p, err := m.Predict(c)
				if err != nil {
					t.Fatal(err)
				}
				if truth < p.StepTime.Lo || truth > p.StepTime.Hi {
					t.Errorf("%s, %d values measured: width %s takes %.3g s, which is outside %.3g to %.3g s", name, values, c.Extra["width"], truth, p.StepTime.Lo, p.StepTime.Hi)
				}
			}
		}
	}
}

// Compression of gradients acts on communication alone: pairs of compression
// and many nodes that were not measured are predicted better than by the
// nearest measurement, and intervals hold.
func TestKnobOfCommunication(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rng.Float64()) }
	inside, asked, ours, nearest := 0., 0., 0., 0.
	for range 24 {
		truth := form.Collective{Fixed: between(.002, .03), PerBatch: between(.02, .3), RefBatch: 32, Tree: 1, Overlap: 1 + 3*rng.Float64()}
		intra, inter := between(.002, .1), between(.01, 1)
		at := func(workers int, compression float64) data.Measurement {
			truth.Intra, truth.Inter = intra/compression, inter/compression
			c := data.Config{Job: "j", GPUType: "a100", Workers: workers, Nodes: (workers + 7) / 8, LocalBatch: 32, Extra: map[string]string{"compression": fmt.Sprint(compression)}}
			return data.Measurement{Config: c, StepTime: truth.StepTime(c), Status: data.OK}
		}
		var all []data.Measurement
		for _, k := range []int{2, 4, 8, 16, 32} {
			for _, x := range []float64{1, 10, 100} {
				all = append(all, at(k, x))
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		m, err := fitAll(all[:8], Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range all[8:] {
			p, err := m.Predict(want.Config)
			if err != nil {
				t.Fatal(err)
			}
			asked++
			if p.StepTime.Lo <= want.StepTime && want.StepTime <= p.StepTime.Hi {
				inside++
			}
			ours += math.Abs(p.StepTime.Mean/want.StepTime - 1)
			near := slices.MinFunc(all[:8], func(a, b data.Measurement) int {
				far := func(m data.Measurement) float64 {
					d := math.Abs(math.Log(float64(m.Workers) / float64(want.Workers)))
					if m.Extra["compression"] != want.Extra["compression"] {
						d++
					}
					return d
				}
				return cmp.Compare(far(a), far(b))
			})
			nearest += math.Abs(near.StepTime/want.StepTime - 1)
		}
	}
	t.Logf("error %.1f %% (nearest measurement %.1f), %.0f %% inside", 100*ours/asked, 100*nearest/asked, 100*inside/asked)
	if inside < .85*asked || ours > nearest/2 {
		t.Errorf("mean error %.1f %%, of the nearest measurement %.1f, inside %.0f %%; want half, 85", 100*ours/asked, 100*nearest/asked, 100*inside/asked)
	}
}
