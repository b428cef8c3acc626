package speed_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// sizes returns measurements of sizes without batch and, beyond what config
// sets, without nodes.
func sizes(workers []int, step func(workers int) float64) (ms []data.Measurement) {
	for _, k := range workers {
		ms = append(ms, data.Measurement{Config: data.Config{Job: "job", GPUType: "a100", Workers: k}, StepTime: step(k), Status: data.OK})
	}
	return ms
}

// Without batches, steps that get shorter with the workers share a fixed global
// batch, and steps that do not have a fixed local one. The interval holds the
// truth, which a power law through the measurements would miss.
func TestUnknownBatchesAreInferred(t *testing.T) {
	strong := func(k int) float64 { return .04 + 9.6/float64(k) }
	weak := func(k int) float64 { return 1 + .01*math.Log2(float64(k)) }
	for name, c := range map[string]struct {
		step  func(k int) float64
		fixed string
	}{"strong scaling": {strong, "global batch with a probability of 100 %"}, "weak scaling": {weak, "global batch with a probability of 0 %"}} {
		ms := sizes([]int{8, 16, 32, 64}, c.step)
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(m.Warnings(), "\n"); !strings.Contains(text, c.fixed) || !strings.Contains(text, "add a column nodes") {
			t.Errorf("%s: warnings %s", name, text)
		}
		text, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := speed.Restore(text, "job", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{128, 512, 2048} {
			ask := data.Config{Job: "job", GPUType: "a100", Workers: k}
			p, err := m.Predict(ask)
			if err != nil {
				t.Fatal(err)
			}
			if want := c.step(k); p.StepTime.Lo > want || p.StepTime.Hi < want {
				t.Errorf("%s, %d workers: %.3g to %.3g s, which leaves out %.3g s", name, k, p.StepTime.Lo, p.StepTime.Hi, want)
			}
			all, err := m.PredictAll([]data.Config{ask, ask})
			if near := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 }; err != nil || !near(all[1].StepTime.Lo, p.StepTime.Lo) || !near(all[1].StepTime.Hi, p.StepTime.Hi) {
				t.Errorf("%s, %d workers: %+v, together %+v, %v", name, k, p, all, err)
			}
			if again, err := back.Predict(ask); err != nil || again != p {
				t.Errorf("%s, %d workers: %+v became %+v, %v", name, k, p.StepTime, again.StepTime, err)
			}
			ask.LocalBatch = 64
			if q, err := m.Predict(ask); err != nil || q.StepTime != p.StepTime || !strings.Contains(q.Why, "measured without a known batch") {
				t.Errorf("%s, %d workers: a batch changes %+v to %+v (%s), %v", name, k, p.StepTime, q.StepTime, q.Why, err)
			}
		}
	}
}

// Without nodes, workers beyond eight may be on another one with slower links.
func TestUnknownNodesLeaveSlowerLinksPossible(t *testing.T) {
	ms := sizes([]int{1, 2, 4, 8}, func(k int) float64 { return 1 + .02*float64(k-1)/float64(k) })
	for i := range ms {
		ms[i].LocalBatch = 32
	}
	ask := data.Config{Job: "job", GPUType: "a100", Workers: 16, LocalBatch: 32}
	upper := func(ms []data.Measurement) float64 {
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(ask)
		if err != nil {
			t.Fatal(err)
		}
		if p.StepTime.Lo > 1.02 {
			t.Errorf("16 workers take at least %.3g s", p.StepTime.Lo)
		}
		return p.StepTime.Hi
	}
	if hi := upper(ms); hi < 1.3 {
		t.Errorf("16 workers take at most %.3g s, though links between nodes may be ten times slower", hi)
	}
	known := slices.Clone(ms)
	for i := range known {
		known[i].Nodes = 1
	}
	ask.Nodes = 1
	if hi := upper(known); hi > 1.2 {
		t.Errorf("16 workers of one node take up to %.3g s", hi)
	}
}

// A measurement that the others contradict is left out under the likelier
// assumption, and no other is.
func TestOutliersWithoutBatches(t *testing.T) {
	ms := sizes([]int{1, 2, 4, 8, 16, 32, 64, 128, 3, 6, 12, 24}, func(k int) float64 { return .04 + 9.6/float64(k) })
	ms[4].StepTime *= 8
	m, err := speed.Fit(context.Background(), ms, speed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(m.Warnings(), "\n")
	if strings.Count(text, "left out") != 1 || !strings.Contains(text, "16 × a100") || !strings.Contains(text, "global batch with a probability of 100 %") {
		t.Errorf("warnings %s", text)
	}
	family, parameters := m.Parameters("a100", data.AllReduce)
	for _, p := range parameters {
		if e := p.Value; p.Name == "fixed" && (e.Lo > .04 || e.Hi < .04 || e.Hi > .08) {
			t.Errorf("%s: %s is %+v, want about 0.04 s", family, p.Name, e)
		}
	}
}

// A configuration on several nodes is uncertain if nothing is known of the network
// between them: measured without nodes, or with parameter servers on one node.
func TestUnmeasuredNetwork(t *testing.T) {
	for _, tc := range []struct {
		name      string
		placement data.Placement
		mode      data.Mode
	}{{"nodes unknown", nil, data.AllReduce}, {"servers on one node", data.Placement{1}, data.PSSync}} {
		var ms []data.Measurement
		at := func(k int) data.Config {
			c := data.Config{Job: "job", GPUType: "a100", Mode: tc.mode, Workers: k, LocalBatch: 32}
			if tc.mode.UsesPS() {
				c.PS = 1
			}
			return c
		}
		for _, k := range []int{1, 2, 4, 8} {
			c := at(k)
			if tc.placement != nil {
				c.Placement = data.Placement{k}
			}
			ms = append(ms, data.Measurement{Config: c, StepTime: .1 + .01*float64(k), Status: data.OK})
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		one, several := at(8), at(8)
		one.Placement, several.Placement = data.Placement{8}, data.Placement{2, 2, 2, 2}
		near, err := m.Predict(one)
		if err != nil {
			t.Fatal(err)
		}
		far, err := m.Predict(several)
		if err != nil || far.StepTime.Hi < 2*near.StepTime.Hi || far.StepTime.Mean < .95*near.StepTime.Mean || !far.Extrapolated {
			t.Errorf("%s: on 4 nodes %+v, %v; on one %+v", tc.name, far, err, near.StepTime)
		}
		all, err := m.PredictAll([]data.Config{one, several})
		if err != nil || math.Abs(all[1].StepTime.Hi/far.StepTime.Hi-1) > 1e-9 {
			t.Errorf("%s: PredictAll %+v, %v; Predict %+v", tc.name, all, err, far)
		}
	}
}
