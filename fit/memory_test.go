package fit

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

// clusterJob measures a made-up job whose links are those of its cluster:
// slow between nodes, and slower between two.
func clusterJob(tb testing.TB, name string, size float64, s Settings, keep func(data.Config) bool) (*Model, *Collective) {
	truth := &Collective{
		Fixed: .02 * size, PerBatch: .1, RefBatch: 32, BatchPower: .9, Intra: .05 * size, IntraPower: .4,
		Inter: .25 * size, InterPower: .2, WidthPower: .35, TwoNodes: 1.4, Overlap: 2,
	}
	var ms []data.Measurement
	for _, nodes := range []int{1, 2, 3, 4} {
		for _, width := range []int{1, 2, 4} {
			for _, batch := range []float64{16, 64} {
				c := data.Config{Job: name, GPUType: "t4", Workers: nodes * width, LocalBatch: batch,
					Placement: data.EvenPlacement(nodes*width, nodes)}
				if keep == nil || keep(c) {
					ms = append(ms, data.Measurement{Config: c, StepTime: truth.StepTime(c), Status: data.OK})
				}
			}
		}
	}
	m, err := Fit(ms, s)
	if err != nil {
		tb.Fatal(err)
	}
	return m, truth
}

func oneNode(c data.Config) bool { return c.NodeCount() == 1 }

// Measured on one node only, a job must learn the network from others.
func TestMemoryOfOtherJobs(t *testing.T) {
	var others []*Model
	for i, size := range []float64{.5, 1, 2, 3} {
		m, _ := clusterJob(t, string(rune('a'+i)), size, Settings{}, nil)
		others = append(others, m)
	}
	far := data.Config{Workers: 16, LocalBatch: 64, Placement: data.Placement{4, 4, 4, 4}}
	miss := func(s Settings) (off float64, m *Model) {
		m, truth := clusterJob(t, "ours", 1.5, s, oneNode)
		p, err := m.Predict(far)
		if err != nil {
			t.Fatal(err)
		}
		if want := truth.StepTime(far); s.Others != nil && (p.StepTime.Lo > want || p.StepTime.Hi < want) {
			t.Errorf("interval %+v misses %.4g", p.StepTime, want)
		}
		return math.Abs(math.Log(p.StepTime.Mean / truth.StepTime(far))), m
	}
	alone, _ := miss(Settings{})
	taught, m := miss(Settings{Others: others})
	if taught > alone/2 || taught > .4 {
		t.Errorf("off by a factor e^%.2f alone and e^%.2f with four other jobs", alone, taught)
	}
	if jobs := m.Borrowed("t4", data.AllReduce); !slices.Equal(jobs, []string{"a", "b", "c", "d"}) {
		t.Errorf("borrowed from %q", jobs)
	}
	if family, _ := m.Parameters("t4", data.AllReduce); family != "collective-typed" {
		t.Errorf("family %s, want collective-typed", family)
	}
	checkRoundTripped(t, m, far)
}

// A prior that came from elsewhere is kept in the file, so that the model
// that is read predicts the same without the others at hand.
func checkRoundTripped(t *testing.T, m *Model, c data.Config) {
	t.Helper()
	var b bytes.Buffer
	if err := EncodeModel(&b, m); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := DecodeModel(&b, "m.json")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := m.Predict(c)
	if got, err := back.Predict(c); err != nil || got != want {
		t.Errorf("%+v became %+v, error %v", want, got, err)
	}
	broken := strings.Replace(text, `"sd": [`, `"sd": [-1, `, 1)
	if _, err := DecodeModel(strings.NewReader(broken), "m.json"); err == nil || !strings.Contains(err.Error(), "borrowed prior") {
		t.Errorf("a negative sd: error %v", err)
	}
}

// Bytes and bandwidth alone must move the time between nodes the right way:
// a slow link makes several nodes slower than a fast one.
func TestLinkOfTheUser(t *testing.T) {
	far := data.Config{Workers: 8, LocalBatch: 64, Placement: data.Placement{4, 4}}
	predict := func(bandwidth float64) float64 {
		m, _ := clusterJob(t, "ours", 1, Settings{Parameters: 4e8, Interconnect: bandwidth}, oneNode)
		p, err := m.StepTime(far)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if slow, fast := predict(1e8), predict(1e11); !(slow > 1.2*fast) {
		t.Errorf("%.4g s over 0.1 GB/s, %.4g s over 100 GB/s", slow, fast)
	}
	for _, s := range []Settings{{Parameters: -1}, {Interconnect: math.Inf(1)}, {Parameters: math.NaN()}} {
		if _, err := Fit([]data.Measurement{measured(1, 32, .1)}, s); err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%+v: error %v", s, err)
		}
	}
}

// With its own measurements on several nodes, a job must not be led astray
// by a cluster that is unlike it.
func TestMeasurementsOutweighMemory(t *testing.T) {
	var others []*Model
	for i := range 3 {
		m, _ := clusterJob(t, string(rune('a'+i)), 8, Settings{}, nil)
		others = append(others, m)
	}
	m, truth := clusterJob(t, "ours", .2, Settings{Others: others}, nil)
	c := data.Config{Workers: 16, LocalBatch: 64, Placement: data.Placement{4, 4, 4, 4}}
	if got, err := m.StepTime(c); err != nil || math.Abs(got/truth.StepTime(c)-1) > .08 {
		t.Errorf("%.4g s, measured %.4g, error %v", got, truth.StepTime(c), err)
	}
}
