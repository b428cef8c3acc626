package predict

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/fit"
)

func gainsOf(t testing.TB, ms []data.Measurement) []Gain {
	t.Helper()
	m, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	gains, err := Gains(m)
	if err != nil {
		t.Fatal(err)
	}
	return gains
}

// Measurements on one node say nothing about the network: the next one must be
// on two nodes, both the cheapest and the most informative.
func TestGainLeavesTheNode(t *testing.T) {
	oneNode := slices.DeleteFunc(measureTruth(t, "a100", 1), func(m data.Measurement) bool { return len(m.Placement) > 1 })
	gains := gainsOf(t, oneNode)
	if len(gains) == 0 || len(gains) > 2 {
		t.Fatalf("gains %v; want one or two", gains)
	}
	for _, g := range gains {
		if g.Config.NodeCount() != 2 {
			t.Errorf("%v; want it on two nodes", g)
		}
	}
	if len(gains) == 2 && (gains[0].Config.Workers >= gains[1].Config.Workers || gains[0].Narrowing >= gains[1].Narrowing) {
		t.Errorf("gains %v; want the second to occupy more and to tell more", gains)
	}
	g := gains[0]
	if g.Before < 1.5*g.After || g.Narrowing <= 0 || g.Narrowing >= 1 {
		t.Errorf("narrows by %g, from ±%g to ±%g", g.Narrowing, g.Before, g.After)
	}
	if !strings.Contains(g.String(), "2 nodes × ") {
		t.Errorf("words %q", g)
	}
	if again := gainsOf(t, oneNode); !reflect.DeepEqual(gains, again) {
		t.Errorf("asked again: %v, first %v", again, gains)
	}
}

// Where knobs were varied, the advice says at which of their values to measure; those
// of the same value everywhere are left out.
func TestGainNamesVariedKnobs(t *testing.T) {
	var ms []data.Measurement
	for _, seq := range []int{512, 1024, 1024} {
		for _, workers := range []int{1, 2, 4} {
			m := data.Measurement{Status: data.OK, StepTime: .02 + float64(seq)/1e4 + .03*float64(workers), Config: data.Config{Job: "j", GPUType: "a100",
				Workers: workers, Nodes: 1, LocalBatch: 8, Extra: map[string]string{"amp": "true"}}}
			m.SeqLen = seq
			ms = append(ms, m)
		}
	}
	gains := gainsOf(t, ms)
	if len(gains) == 0 || !strings.Contains(gains[0].String(), "batch 8, seq_len 1024: would") {
		t.Errorf("%v", gains)
	}
}

func TestTheLargestGainIsNamedBesideTheCheapest(t *testing.T) {
	gain := func(workers int, narrowing float64) Gain {
		return Gain{Config: data.Config{Workers: workers}, Narrowing: narrowing}
	}
	for _, c := range []struct {
		of   []Gain
		want []int // workers
	}{
		{[]Gain{gain(8, .6), gain(1, .1), gain(4, .3)}, []int{1, 8}},
		{[]Gain{gain(8, .1), gain(1, .1)}, []int{1}},
		{[]Gain{gain(8, .6), gain(1, .04)}, []int{8}},
		{[]Gain{gain(1, .01), gain(2, math.NaN())}, nil},
	} {
		var got []int
		for _, g := range worthNaming(c.of) {
			got = append(got, g.Config.Workers)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v those of %v workers are named, want %v", c.of, got, c.want)
		}
	}
}

func TestGainInWords(t *testing.T) {
	c := data.Config{GPUType: "a100", Workers: 2, Placement: data.Placement{1, 1}, LocalBatch: 64}
	target := data.Config{GPUType: "a100", Workers: 16, LocalBatch: 64}
	got := Gain{Config: c, Target: target, Before: .45, After: .2}.String()
	if want := "2 nodes × 1 a100, allreduce, batch 64: would narrow the prediction for 16 workers from ±45 % to about ±20 %"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c = data.Config{GPUType: "cpu", Mode: data.PSSync, Workers: 4, PS: 2, LocalBatch: 32}
	target = c
	target.Workers, target.LocalBatch = 1, 64
	got = Gain{Config: c, Target: target, Before: .4, After: .1}.String()
	if want := "4 × cpu, 2 ps, ps-sync, batch 32: would narrow the prediction for 1 worker with 2 ps at batch 64 from ±40 % to about ±10 %"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// With a constant global batch, the text names that.
func TestGainNamesTheFixedBatch(t *testing.T) {
	c := data.Config{GPUType: "cpu", Mode: data.PSSync, Workers: 24, PS: 1, LocalBatch: 32. / 24}
	target := c
	target.Workers, target.LocalBatch = 12, 32./12
	got := Gain{Config: c, Target: target, Before: .4, After: .1}.String()
	if want := "24 × cpu, 1 ps, ps-sync, global batch 32: would narrow the prediction for 12 workers with 1 ps from ±40 % to about ±10 %"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Proposed measurements are new, distinct and possible to launch.
func TestNextConfigsAreNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom(data.Modes()).Draw(t, "mode")
		placed := rapid.Bool().Draw(t, "placed")
		var rows []data.Measurement
		measured := map[[4]float64]bool{}
		shape := func(c data.Config) [4]float64 {
			return [4]float64{float64(c.Workers), float64(c.NodeCount()), float64(c.PS), c.LocalBatch}
		}
		for range rapid.IntRange(1, 10).Draw(t, "rows") {
			k := rapid.IntRange(1, 12).Draw(t, "workers")
			c := data.Config{Job: "a", GPUType: "g", Mode: mode, Workers: k, LocalBatch: float64(rapid.IntRange(0, 3).Draw(t, "batch"))}
			if placed {
				c.Placement = data.EvenPlacement(k, rapid.IntRange(1, k).Draw(t, "nodes"))
				c.Nodes = len(c.Placement)
			}
			if mode.UsesPS() {
				c.PS = rapid.IntRange(1, 4).Draw(t, "ps")
			}
			rows = append(rows, data.Measurement{Config: c, StepTime: 1, Status: data.OK})
			measured[shape(c)] = true
		}
		for _, c := range surroundingsOf(rows).next(rows) {
			switch {
			case measured[shape(c)] && c.NodeCount() == c.Workers:
				t.Fatalf("%v was measured, or is proposed twice", c)
			case c.Workers < 1 || len(c.Placement) > 0 && c.Placement.Workers() != c.Workers:
				t.Fatalf("%v has placement %v", c, c.Placement)
			case mode.UsesPS() != (c.PS > 0) || math.IsNaN(c.LocalBatch):
				t.Fatalf("%v in mode %s", c, mode)
			}
		}
		if targets := surroundingsOf(rows).targets(); targets[0].Workers != 1 || len(targets) < 2 {
			t.Fatalf("targets %v", targets)
		}
	})
}

// On measured jobs, the interval after adding the true measurement is within a
// factor of two of the announced one.
func TestGainKeepsItsWord(t *testing.T) {
	for _, job := range []string{"bert", "cifar10"} {
		all := loadBench(t, "allreduce", job+"-t4-placements.csv")
		oneNode := slices.DeleteFunc(slices.Clone(all), func(m data.Measurement) bool { return m.NodeCount() > 1 })
		gains := gainsOf(t, oneNode)
		if len(gains) == 0 {
			t.Errorf("%s: nothing to gain from leaving the node", job)
			continue
		}
		g := gains[0]
		added := false
		for _, m := range all {
			if !added && m.Placement.String() == g.Config.Placement.String() && m.LocalBatch == g.Config.LocalBatch {
				oneNode, added = append(oneNode, m), true
			}
		}
		if !added {
			t.Errorf("%s: %v was not measured", job, g.Config)
			continue
		}
		m, err := fit.Fit(oneNode, fit.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(g.Target)
		if err != nil {
			t.Fatal(err)
		}
		got := halfWidth(p.StepTime)
		t.Logf("%s: %v; really ±%.0f %%", job, g, 100*got)
		if got > 2*g.After || got < g.After/2 {
			t.Errorf("%s: %v; really ±%.0f %%", job, g, 100*got)
		}
	}
}

// A measurement of the configuration asked about narrows its interval as promised:
// what the process and the form add to both is known then, the noise of a run not.
func TestGainOfTheConfigurationItself(t *testing.T) {
	row := func(nodes, workers int, batch, seconds float64) data.Measurement {
		return data.Measurement{Config: data.Config{Job: "j", GPUType: "a100", Nodes: nodes, Workers: workers, LocalBatch: batch}, StepTime: seconds, Status: data.OK}
	}
	known := []data.Measurement{row(1, 1, 32, .2), row(1, 2, 32, .22), row(1, 4, 32, .25)}
	m, err := fit.Fit(known, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []data.Measurement{row(1, 4, 8, .12), row(2, 8, 32, .3)} {
		gains, err := gainsFrom(m, []data.Config{asked.Config}, []data.Config{asked.Config})
		if err != nil || len(gains) != 1 {
			t.Fatalf("%s: %v, %v; want one gain", asked.Config, gains, err)
		}
		with, err := fit.Fit(append(slices.Clone(known), asked), fit.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := with.Predict(asked.Config)
		if err != nil {
			t.Fatal(err)
		}
		if really := halfWidth(p.StepTime); really > 1.6*gains[0].After || really < gains[0].After/1.6 {
			t.Errorf("%v; really ±%.0f %%", gains[0], 100*really)
		}
	}
}

// The measurement for a configuration is about that, and that of a GPU type
// without measurements is refused.
func TestGainFor(t *testing.T) {
	m, err := fit.Fit(measureTruth(t, "a100", 1), fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	asked := m.Measurements("a100", data.AllReduce)[0].Config
	asked.Workers, asked.Placement, asked.Nodes = 64, nil, 16
	if g, err := GainFor(m, asked); err != nil || g == nil || g.Target.Workers != 64 || g.After >= g.Before {
		t.Errorf("of 64 workers: %v, %v", g, err)
	}
	asked.GPUType = "h100"
	if g, err := GainFor(m, asked); err == nil {
		t.Errorf("of another type: %v, want an error", g)
	}
}
