package speed

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed/form"
)

// Unusual measurements give finite, ordered predictions near the measured
// values.
func TestOddMeasurements(t *testing.T) {
	many := synthetic(200)
	var huge []data.Measurement
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50000 / len(many) {
		for _, m := range many {
			m.StepTime *= math.Exp(.05 * rng.NormFloat64())
			huge = append(huge, m)
		}
	}
	flat := []data.Measurement{measured(1, 32, .2), measured(2, 32, .2), measured(4, 32, .2), measured(8, 32, .2)}
	tests := []struct {
		name string
		ms   []data.Measurement
		at   int     // row to predict
		tol  float64 // relative
	}{
		{"50,000 rows", huge, 7, .15},
		{"one row", []data.Measurement{measured(4, 32, .2)}, 0, .05},
		{"two identical rows", []data.Measurement{measured(4, 32, .2), measured(4, 32, .2)}, 0, .05},
		{"one batch", []data.Measurement{measured(1, 32, .2), measured(2, 32, .25), measured(4, 32, .3)}, 2, .05},
		{"one worker count", []data.Measurement{measured(2, 16, .1), measured(2, 32, .2), measured(2, 64, .4)}, 1, .05},
		{"super-linear", []data.Measurement{measured(1, 32, .4), measured(2, 32, .3), measured(4, 32, .2), measured(8, 32, .15)}, 3, .4},
		{"zero variance", flat, 1, .03},
		{"no servers", []data.Measurement{serverRow(1, 0, 2), serverRow(2, 0, 1.5), serverRow(4, 0, 1.4)}, 1, .06},
		{"zero spread recorded", []data.Measurement{{Status: data.OK, StepTime: .2, Steps: 50, Config: measured(2, 32, 1).Config}}, 0, .05},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := fitAll(tt.ms, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			row := tt.ms[tt.at]
			p, err := m.Predict(row.Config)
			e := p.StepTime
			if err != nil || !(e.Lo > 0 && e.Lo <= e.Mean && e.Mean <= e.Hi) || math.IsInf(e.Hi, 0) {
				t.Fatalf("%+v, error %v", p, err)
			}
			if math.Abs(e.Mean/row.StepTime-1) > tt.tol {
				t.Errorf("predicts %.4g s where %.4g s was measured", e.Mean, row.StepTime)
			}
		})
	}
}

// Fifty thousand configurations, each measured once, are fitted in bounded time
// from the most informative ones, with a warning.
func TestManyConfigurations(t *testing.T) {
	truth := &form.Collective{Fixed: .05, PerBatch: .1, RefBatch: 32, Intra: .03, Power: .3, IntraPower: .3,
		Inter: .05, Tree: 1.1, Overlap: 2}
	const n = 50000
	ms := make([]data.Measurement, n)
	for i := range ms {
		nodes, width := 1+i%4, 1+(i/4)%4
		c := data.Config{Job: "made-up", GPUType: "t4", Workers: nodes * width, Placement: data.EvenPlacement(nodes*width, nodes), LocalBatch: float64(8 + i/16)}
		ms[i] = data.Measurement{Config: c, StepTime: truth.StepTime(c), Status: data.OK}
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(m.Warnings(), "; "); !strings.Contains(w, "192 of 50000 measurements are used") {
		t.Errorf("warnings %q", w)
	}
	for i := 0; i < n; i += n / 50 {
		p, err := m.Predict(ms[i].Config)
		if err != nil || p.Support != n || math.Abs(p.StepTime.Mean/ms[i].StepTime-1) > .07 {
			t.Errorf("%v: %+v, want %.4g s from %d measurements; error %v", ms[i].Config, p, ms[i].StepTime, n, err)
		}
	}
}

// A step time a hundred times too large is left out, with a warning.
func TestOutlierIsNamedAndLeftOut(t *testing.T) {
	ps := func(n int) []data.Measurement {
		var ms []data.Measurement
		for i := range n {
			k, s := 1+i%4, 1+i/4
			ms = append(ms, serverRow(k, s, .5+1/float64(k)+.3*float64(k)/float64(s)))
		}
		return ms
	}
	tests := []struct {
		name   string
		clean  []data.Measurement
		wrong  int
		factor float64
	}{
		{"100 times too slow among 5", synthetic(5), 2, 100},
		{"100 times too fast among 8", synthetic(8), 5, .01},
		{"100 times too slow among 24", synthetic(24), 11, 100},
		{"10 times too slow among 64", synthetic(64), 40, 10},
		{"100 times too slow, servers", ps(12), 6, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ms := slices.Clone(tt.clean)
			for i := range ms {
				ms[i].Source = data.Source{File: "m.csv", Line: i + 2}
			}
			ms[tt.wrong].StepTime *= tt.factor
			ms[tt.wrong].SyncTime *= tt.factor
			m, err := fitAll(ms, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			var named []string
			for _, w := range m.Warnings() {
				if strings.Contains(w, "left out") {
					named = append(named, w)
				}
			}
			src := ms[tt.wrong].Source
			if len(named) != 1 || !strings.Contains(named[0], src.File+":"+strconv.Itoa(src.Line)) {
				t.Fatalf("warnings %q, want one naming %s", named, src)
			}
			p, err := m.Predict(ms[tt.wrong].Config)
			if want := tt.clean[tt.wrong].StepTime; err != nil || math.Abs(math.Log(p.StepTime.Mean/want)) > math.Log(2) {
				t.Errorf("predicts %+v there, the clean time is %.4g; error %v", p.StepTime, want, err)
			}
			if p.Support != len(ms)-1 {
				t.Errorf("support %d, want %d", p.Support, len(ms)-1)
			}
		})
	}
}

// A step time twice too large among six is kept, with a warning; without it
// there is none.
func TestSmallOutlierIsNamed(t *testing.T) {
	warnings := func(factor float64) []string {
		var ms []data.Measurement
		for i := range 6 {
			ms = append(ms, measured(1<<i, 32, .1+.004*float64(i)))
		}
		ms[3].StepTime *= factor
		m, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(m.Warnings(), func(w string) bool { return !strings.Contains(w, "measure it again") })
	}
	if w := warnings(2); len(w) != 1 || !strings.Contains(w[0], "8 × t4") {
		t.Errorf("warnings %q, want one naming 8 workers", w)
	}
	if w := warnings(1); len(w) > 0 {
		t.Errorf("warnings %q of clean measurements", w)
	}
}

// Of three runs of one configuration the outlier is dropped; all measurements
// of a clean job are kept.
func TestScreeningOfRepeats(t *testing.T) {
	m, err := fitAll([]data.Measurement{measured(2, 32, .1), measured(2, 32, 10), measured(2, 32, .1)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := m.Predict(data.Config{Workers: 2, LocalBatch: 32}); math.Abs(p.StepTime.Mean-.1) > .005 || p.Support != 2 {
		t.Errorf("predicts %+v, want 0.1 s from 2 measurements", p)
	}
	clean, err := fitAll(synthetic(60), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if w := clean.Warnings(); len(w) != 0 {
		t.Errorf("warnings %q on a clean job", w)
	}
}

// Runs of one configuration that contradict each other are named, unless their
// standard errors or the size of the model explain it.
func TestRepeatsThatDisagree(t *testing.T) {
	repeats := func(times [4]float64, relative float64) []data.Measurement {
		var ms []data.Measurement
		for i, step := range times {
			m := measured(1+i/2, 32, step)
			m.Source = data.Source{File: "c.csv", Line: i + 2}
			m.StepTimeSE = relative * step
			ms = append(ms, m)
		}
		return ms
	}
	sizes := repeats([4]float64{.1, .2, .12, .24}, .001)
	for i := range sizes {
		sizes[i].Architecture = data.Architecture{Layers: 12 * (1 + i%2), Hidden: 768, SeqLen: 512}
	}
	for name, c := range map[string]struct {
		ms   []data.Measurement
		want []string
	}{
		"one":       {repeats([4]float64{.1, .2, .12, .121}, .001), []string{"c.csv:3 takes 0.2 s, 2.0 times c.csv:2"}},
		"two":       {repeats([4]float64{.1, .2, .24, .08}, .001), []string{"c.csv:4 takes 0.24 s, 3.0 times c.csv:5", "1 other"}},
		"agree":     {repeats([4]float64{.1, .14, .12, .11}, .001), nil},
		"uncertain": {repeats([4]float64{.1, .2, .12, .121}, .2), nil},
		"sizes":     {sizes, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := fitAll(c.ms, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			var of []string
			for _, w := range m.Warnings() {
				if strings.Contains(w, "same configuration") {
					of = append(of, w)
				}
			}
			if (len(of) == 0) != (c.want == nil) || len(of) > 1 {
				t.Fatalf("warnings %q, want one with %q", of, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(of[0], want) {
					t.Errorf("warning %q, want %q", of[0], want)
				}
			}
		})
	}
}

// However often runs are repeated, the interval of a new run holds nine in ten.
func TestRepeatsDoNotNarrowNewRuns(t *testing.T) {
	for _, repeats := range []int{1, 4, 32} {
		rng := rand.New(rand.NewPCG(7, uint64(repeats)))
		run := func(c data.Config) float64 {
			return (.02 + .002*c.LocalBatch + .004*math.Log2(float64(c.Workers))) * math.Exp(.05*rng.NormFloat64())
		}
		var ms []data.Measurement
		for _, k := range []int{1, 2, 4, 8, 16} {
			for _, b := range []float64{8, 16, 32, 64} {
				for range repeats {
					c := data.Config{Job: "j", GPUType: "a100", Workers: k, Nodes: (k + 7) / 8, LocalBatch: b}
					ms = append(ms, data.Measurement{Config: c, StepTime: run(c), Status: data.OK})
				}
			}
		}
		m, err := Fit(context.Background(), ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		inside, n := 0, 0
		for _, r := range ms {
			p, err := m.Predict(r.Config)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				n++
				if v := run(r.Config); p.StepTime.Lo <= v && v <= p.StepTime.Hi {
					inside++
				}
			}
		}
		if share := float64(inside) / float64(n); share < .8 {
			t.Errorf("%d repeats: %.0f %% of new runs lie inside their 90 %% intervals", repeats, 100*share)
		}
	}
}

// A largest size that was measured again and again is what it is.
func TestRepeatedLargestSize(t *testing.T) {
	var ms []data.Measurement
	for k, times := range map[int][]float64{1: {.2}, 2: {.23}, 4: {.23}, 8: {.23}, 16: {.26}, 32: {.26}, 64: {.416, .411, .412, .413}} {
		for _, s := range times {
			ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: k, Nodes: (k + 7) / 8, LocalBatch: 32}, StepTime: s, Status: data.OK})
		}
	}
	slices.SortFunc(ms, func(a, b data.Measurement) int { return a.Workers - b.Workers })
	m, err := Fit(context.Background(), ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(ms[len(ms)-1].Config)
	if err != nil || math.Abs(p.StepTime.Mean/.413-1) > .1 || p.StepTime.Lo > .411 || p.StepTime.Hi < .416 {
		t.Errorf("%+v, %v; measured four times as .41 s", p.StepTime, err)
	}
}

// A knob far beyond what was measured gives a time, if a useless one.
func TestFarKnob(t *testing.T) {
	var ms []data.Measurement
	for i, v := range []string{"1", "2", "4"} {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Workers: 1 + i, LocalBatch: 8, Extra: map[string]string{"d": v}}, StepTime: .1 * float64(1+i), Status: data.OK})
	}
	m, err := Fit(context.Background(), ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"1e100", "1e300", "1e-300"} {
		p, err := m.Predict(data.Config{Workers: 4, LocalBatch: 8, Extra: map[string]string{"d": v}})
		if e := p.StepTime; err != nil || !(e.Lo > 0 && e.Lo <= e.Mean && e.Mean <= e.Hi && e.Hi < 1e300) {
			t.Errorf("%s: %+v, %v", v, e, err)
		}
	}
}
