package speed

import (
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

// sized returns measurements of a network of 12 layers whose step time grows with
// the length of a sample like attention, t = (a·s + b·s²)·batch.
func sized(lengths ...int) (ms []data.Measurement) {
	for _, s := range lengths {
		for _, batch := range []float64{2, 4} {
			c := data.Config{Job: "j", GPUType: "a100", Workers: 1, Nodes: 1, LocalBatch: batch}
			c.SeqLen, c.Layers = s, 12
			ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: lengthTime(s) * batch})
		}
	}
	return ms
}

func lengthTime(s int) float64 { return 2e-5*float64(s) + 1e-8*float64(s)*float64(s) }

// The length of a sample is a knob if it varies: measured in the columns of the
// network's size, asked for there, as a knob, or as another size of the network.
func TestSampleLengthCounts(t *testing.T) {
	m, err := fitAll(sized(512, 1024, 2048, 4096), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []int{3072, 8192} {
		asked := sized(s)[0].Config
		knob := asked
		knob.Architecture, knob.Extra = data.Architecture{}, map[string]string{"seq_len": asked.Column("seq_len")}
		bare := knob
		bare.Extra = nil
		p, err := m.Predict(asked)
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * lengthTime(s); math.Abs(math.Log(p.StepTime.Mean/want)) > .15 || p.StepTime.Lo > want || p.StepTime.Hi < want {
			t.Errorf("length %d: %v, want %.3g", s, p.StepTime, want)
		}
		if p.Extrapolated != (s > 4096) {
			t.Errorf("length %d: extrapolated %v: %s", s, p.Extrapolated, p.Why)
		}
		for name, other := range map[string]func() (Prediction, error){
			"knob":         func() (Prediction, error) { return m.Predict(knob) },
			"other size":   func() (Prediction, error) { return m.For(asked.Architecture).Predict(bare) },
			"PredictAll":   func() (Prediction, error) { ps, err := m.PredictAll([]data.Config{asked}); return ps[0], err },
			"all, as knob": func() (Prediction, error) { ps, err := m.PredictAll([]data.Config{knob}); return ps[0], err },
		} {
			if q, err := other(); err != nil || math.Abs(q.StepTime.Mean/p.StepTime.Mean-1) > 1e-9 {
				t.Errorf("length %d as %s: %v, %v; want %v", s, name, q.StepTime, err, p.StepTime)
			}
		}
	}
	if c, err := m.Resolve(data.Config{Workers: 1, LocalBatch: 2, Extra: map[string]string{"seq_len": "3072"}}); err != nil || c.SeqLen != 3072 {
		t.Errorf("resolved length %d, %v; want 3072, for the memory", c.SeqLen, err)
	}
	if !slices.ContainsFunc(m.Knobs("a100", data.AllReduce), func(k Knob) bool { return k.Name == "seq_len" && k.Numeric }) {
		t.Errorf("knobs %v, want seq_len", m.Knobs("a100", data.AllReduce))
	}
}

// With one length measured its effect is unknown, which widens predictions at
// others.
func TestUnmeasuredLength(t *testing.T) {
	m, err := fitAll(sized(1024), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	same, err := m.Predict(sized(1024)[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.Predict(sized(4096)[0].Config)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * lengthTime(4096); other.StepTime.Lo > want || other.StepTime.Hi < want || same.StepTime.Hi/same.StepTime.Lo > 2 {
		t.Errorf("lengths 1024 and 4096: %v, %v; want the second to hold %.3g", same.StepTime, other.StepTime, want)
	}
	if same.Extrapolated || !strings.Contains(other.Why, "seq_len 4096, measured 1024") {
		t.Errorf("extrapolated: %q, %q; want the second alone, for its length", same.Why, other.Why)
	}
}

// Messages do not depend on the length of a sample: a job bound by them is hardly
// faster with shorter samples. All ways to predict agree.
func TestLengthLeavesMessages(t *testing.T) {
	at := func(workers, length int) data.Measurement {
		c := data.Config{Job: "j", GPUType: "a100", Workers: workers, Nodes: 1, LocalBatch: 2}
		c.SeqLen, c.Layers = length, 12
		return data.Measurement{Config: c, Status: data.OK, StepTime: 4e-5*float64(length) + .4*float64(workers-1)/float64(workers)}
	}
	m, err := fitAll([]data.Measurement{at(1, 1024), at(2, 1024), at(4, 1024), at(8, 1024)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{256, 4096} {
		want := at(8, length)
		p, err := m.Predict(want.Config)
		if err != nil {
			t.Fatal(err)
		}
		if e := p.StepTime; e.Lo > want.StepTime || e.Hi < want.StepTime || e.Hi/e.Lo > 2.5 || math.Abs(math.Log(e.Mean/want.StepTime)) > .2 {
			t.Errorf("length %d: %v, want %.3g", length, e, want.StepTime)
		}
		all, err := m.PredictAll([]data.Config{at(8, 1024).Config, want.Config})
		if err != nil || math.Abs(all[1].StepTime.Mean/p.StepTime.Mean-1) > 1e-9 {
			t.Errorf("length %d: %v among others, %v alone, %v", length, all[1].StepTime, p.StepTime, err)
		}
		central, err := m.Central(want.Config, []Batch{{Local: want.LocalBatch, Accum: want.AccumSteps}})
		if err != nil || math.Abs(central[0]/p.Median-1) > .1 {
			t.Errorf("length %d: %v at the mode, median %.3g, %v", length, central, p.Median, err)
		}
		if world, err := m.World(1)(want.Config); err != nil || world < p.StepTime.Lo/1.5 || world > p.StepTime.Hi*1.5 {
			t.Errorf("length %d: %.3g in a world, predicted %v, %v", length, world, p.StepTime, err)
		}
	}
}

// The size of a network may be asked for by its parameters, and be measured by layers and
// hidden size, or the other way round.
func TestSizeByParameters(t *testing.T) {
	shape := data.Architecture{Layers: 24, Hidden: 1024, SeqLen: 1024}
	count := data.Architecture{Parameters: shape.Count(), SeqLen: 1024}
	for _, measured := range []data.Architecture{shape, count} {
		ms := sized(1024)
		for i := range ms {
			ms[i].Architecture = measured
		}
		m, err := fitAll(ms, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		at := func(a data.Architecture) Prediction {
			p, err := m.For(a).Predict(data.Config{Workers: 1, LocalBatch: 2})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		larger := at(data.Architecture{Parameters: 20 * count.Parameters})
		wider := at(data.Architecture{Layers: 24, Hidden: 4096})
		for _, p := range []Prediction{larger, wider} {
			if grown := p.StepTime.Mean / at(measured).StepTime.Mean; grown < 4 || !p.Extrapolated {
				t.Errorf("measured %+v: %.3g times as long, extrapolated %v; want far longer", measured, grown, p.Extrapolated)
			}
		}
	}
}

// Where a causal mask halves the operations of attention, longer samples take less time than
// all of them would.
func TestCausalAttention(t *testing.T) {
	at := func(length, tp, batch int) data.Measurement {
		c := data.Config{Job: "j", GPUType: "a100", Workers: 8, Nodes: 1, LocalBatch: float64(batch), AccumSteps: 8/batch - 1, Layout: data.Layout{TP: tp}}
		c.Architecture = data.Architecture{Layers: 24, Hidden: 1024, Heads: 8, SeqLen: length, Vocab: 32000}
		s := float64(length)
		return data.Measurement{Config: c, Status: data.OK, StepTime: 4e-13 * s * (6*c.Count() + 6*24*1024*s) * (1/float64(tp) + .05)}
	}
	m, err := fitAll([]data.Measurement{at(1024, 1, 1), at(1024, 2, 2), at(1024, 4, 4), at(1024, 1, 4), at(1024, 4, 1), at(1024, 2, 8)}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	long := at(131072, 2, 1)
	p, err := m.Predict(long.Config)
	if err != nil || p.StepTime.Lo > long.StepTime || p.StepTime.Hi < long.StepTime {
		t.Errorf("128 times as long: %v, %v; want %.3g s", p.StepTime, err, long.StepTime)
	}
}
