package fit

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/convergence"
)

// fullModel is a model with all parts.
func fullModel(tb testing.TB) *Model {
	var ms []data.Measurement
	for i, k := range []int{1, 2, 4, 4, 8, 8, 8, 16, 16, 16} {
		m := measured(k, float64(16+8*(i%3)), .1+.01*float64(i))
		m.Job = "made-up"
		ms = append(ms, m)
	}
	for _, k := range []int{1, 2, 4} {
		c := data.Config{Job: "made-up", GPUType: "cpu", Mode: data.PSSync, Workers: k, PS: 2, LocalBatch: 32 / float64(k)}
		ms = append(ms, data.Measurement{Config: c, StepTime: 1 + 1/float64(k), Status: data.OK})
	}
	m, err := Fit(ms, Settings{Seed: 5})
	if err != nil {
		tb.Fatal(err)
	}
	points := fallingCurve(30)
	for i := range points {
		points[i].GradSqr, points[i].GradVar = 1, 10+float64(i)
	}
	if err := m.AddCurve(points, data.Batch{Initial: 32, Max: 4096, Adapt: true}, convergence.Settings{}); err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestModelRoundTrip(t *testing.T) {
	m := fullModel(t)
	path := filepath.Join(t.TempDir(), "model.json")
	if err := WriteModel(path, m); err != nil {
		t.Fatal(err)
	}
	back, err := ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []data.Config{
		{GPUType: "t4", Workers: 6, Nodes: 2, LocalBatch: 24},
		{GPUType: "cpu", Workers: 3, PS: 1},
	} {
		a, errA := m.Predict(c)
		b, errB := back.Predict(c)
		if errA != nil || errB != nil || a != b {
			t.Errorf("%v: %+v (%v) became %+v (%v)", c, a, errA, b, errB)
		}
	}
	a, _ := m.ToLoss(.12)
	b, err := back.ToLoss(.12)
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("steps %+v became %+v, %v", a, b, err)
	}
	if *m.NoiseScale() != *back.NoiseScale() || m.Batch() != back.Batch() || m.Job() != back.Job() {
		t.Error("noise scale, batch or job changed")
	}
	var first, second bytes.Buffer
	if err := errors.Join(EncodeModel(&first, m), EncodeModel(&second, back)); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("writing what was read gives other bytes")
	}
	if _, err := DecodeModel(strings.NewReader("\ufeff"+first.String()), "marked.json"); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
}

// Runs of unknown batches tell nothing of memory.
func TestMemoryNeedsABatch(t *testing.T) {
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4} {
		m := measured(k, 0, .1)
		m.PeakMemory, m.Architecture.Parameters = 12e9, 1e8
		ms = append(ms, m)
	}
	without, err := Fit(ms, Settings{})
	if err != nil || without.Memory() != nil {
		t.Fatalf("%v, %v: want no memory model", without.Memory(), err)
	}
	one := measured(2, 16, .1)
	one.PeakMemory, one.Architecture.Parameters = 12e9, 1e8
	a := memoryOf([]data.Measurement{one}, 1).Predict(one.Config)
	if b := memoryOf(append(ms, one), 1).Predict(one.Config); a != b {
		t.Errorf("%+v with them, want %+v", b, a)
	}
}

func TestDecodeModelRefuses(t *testing.T) {
	var good bytes.Buffer
	if err := EncodeModel(&good, fullModel(t)); err != nil {
		t.Fatal(err)
	}
	edit := func(from, to string) string { return strings.Replace(good.String(), from, to, 1) }
	tests := []struct{ name, text, want string }{
		{"newer version", edit(`"version": 3`, `"version": 4`), "4"},
		{"unknown field", edit(`"job"`, `"surprise": 1, "job"`), "m.json:3:surprise: found an unknown field"},
		{"not JSON", "speed", "m.json:1"},
		{"unknown family", edit(`"family": "collective"`, `"family": "cubic"`), "cubic"},
		{"family of another mode", edit(`"family": "collective"`, `"family": "ps"`), "does not describe"},
		{"missing measurement values", edit(`"step_time_s"`, `"wall_s"`), "step_time_s"},
		{"wrong type", edit(`"counts": [`, `"counts": ["ten",`), "counts"},
		{"unknown mode", edit(`"mode": "allreduce"`, `"mode": "gossip"`), "gossip"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := DecodeModel(strings.NewReader(tt.text), "m.json")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "m.json") {
				t.Errorf("error %v, want one naming m.json and %q", err, tt.want)
			}
		})
	}
}

// Reading any bytes ends in an error or in a model that answers.
func FuzzDecodeModel(f *testing.F) {
	var good bytes.Buffer
	if err := EncodeModel(&good, fullModel(f)); err != nil {
		f.Fatal(err)
	}
	text := good.String()
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(strings.Replace(text, `"coordinates": [`, `"coordinates": [1e300,`, 1))
	f.Add(strings.Replace(text, `"workers": 1`, `"workers": -3`, 1))
	f.Add(strings.Replace(text, `"scale": 1`, `"scale": -1`, 1))
	f.Add(`{"version":1}`)
	f.Add(`{"version":1,"speed":[{}]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := DecodeModel(strings.NewReader(text), "fuzz.json")
		if err != nil {
			return
		}
		for _, g := range m.GPUTypes() {
			for _, mode := range m.Modes(g) {
				if p, err := m.Predict(data.Config{GPUType: g, Mode: mode, Workers: 2}); err != nil || p.StepTime.Mean < 0 {
					t.Errorf("%s %s: %+v, %v", g, mode, p, err)
				}
			}
		}
		if n := m.NoiseScale(); n != nil {
			n.Efficiency(100)
		}
		_, _ = m.ToLoss(.1) // must not panic
	})
}

// Speed models of earlier versions are refitted.
func TestOldModelIsFittedAnew(t *testing.T) {
	const old = `{"version": 2, "job": "j", "seed": 1, "batch": {}, "warnings": ["t4, allreduce: old"],
 "speed": [{"gpu_type": "t4", "mode": "allreduce", "family": "collective-typed", "theta": [1, 2], "count": 2, "spread": {"scale": 1},
  "measurements": [
   {"nodes": 1, "workers": 1, "local_batch": 32, "step_time_s": 0.2, "status": "ok"},
   {"nodes": 1, "workers": 4, "local_batch": 32, "step_time_s": 0.25, "status": "ok"}]}]}`
	m, err := DecodeModel(strings.NewReader(old), "m.json")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Fit([]data.Measurement{measured(1, 32, .2), measured(4, 32, .25)}, Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := data.Config{GPUType: "t4", Workers: 8, Nodes: 2, LocalBatch: 24}
	got, errA := m.Predict(c)
	want, errB := fresh.Predict(c)
	if errA != nil || errB != nil || got != want {
		t.Errorf("predicts %+v, a new fit %+v; %v, %v", got, want, errA, errB)
	}
}

// GPU types of earlier versions were spelt as measured, and their memory models had
// fewer coordinates.
func TestModelOfEarlierVersionAnswers(t *testing.T) {
	var ms []data.Measurement
	for _, gpu := range []string{"v100", "v100-16gb", "a100-sxm4-80gb"} { // the first two are one type
		for k := 1; k <= 4; k *= 2 {
			m := measured(k, 32, .2+.01*float64(k))
			m.GPUType, m.PeakMemory = gpu, 8e9
			ms = append(ms, m)
		}
	}
	m, err := Fit(ms, Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range m.file.Memory.Draws {
		m.file.Memory.Draws[i] = d[1:]
	}
	m.file.Memory.GPU = map[string]float64{"a100-sxm4-80gb": 9e9}
	var old bytes.Buffer
	if err := EncodeModel(&old, m); err != nil {
		t.Fatal(err)
	}
	back, err := DecodeModel(&old, "m.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := back.GPUTypes(); !slices.Equal(got, []string{"v100", "a100-80gb"}) {
		t.Errorf("GPU types %q", got)
	}
	c := data.Config{GPUType: "v100", Workers: 4, Nodes: 1, LocalBatch: 32}
	if p, err := back.Predict(c); err != nil || p.StepTime.Lo > .24 || p.StepTime.Hi < .24 {
		t.Errorf("predicts %+v where .24 s was measured twice; %v", p.StepTime, err)
	}
	if peak := back.Memory().Predict(c).Peak; peak.Lo > 8e9 || peak.Hi < 8e9 {
		t.Errorf("predicts a peak of %+v bytes, measured were 8e9", peak)
	}
	if got := back.Memory().Capacity("a100-80gb"); got != 9e9 {
		t.Errorf("memory of a device %g bytes, measured was 9e9", got)
	}
	if w := back.Warnings(); len(w) == 0 || !strings.Contains(w[len(w)-1], "earlier version") {
		t.Errorf("warnings %q, none of the memory", w)
	}
}
