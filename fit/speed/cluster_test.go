package speed

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed/form"
)

// clusterJob measures a simulated job on links of its cluster: slow between two
// nodes, less so between more.
func clusterJob(tb testing.TB, name string, size float64, s Settings, keep func(data.Config) bool) (*Model, *form.Collective) {
	truth := &form.Collective{
		Fixed: .02 * size, PerBatch: .1, RefBatch: 32, Intra: .05 * size, Power: .3, IntraPower: .3,
		Inter: .25 * size, Tree: .8, Overlap: 2,
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
	m, err := fitAll(ms, s)
	if err != nil {
		tb.Fatal(err)
	}
	return m, truth
}

func oneNode(c data.Config) bool { return c.NodeCount() == 1 }

// A job measured on one node borrows the network from other jobs.
func TestMemoryOfOtherJobs(t *testing.T) {
	var others []*Model
	for i, size := range []float64{.5, 1, 2, 3} {
		m, _ := clusterJob(t, string(rune('a'+i)), size, Settings{}, nil)
		others = append(others, m)
	}
	far := data.Config{Workers: 16, LocalBatch: 64, Placement: data.Placement{4, 4, 4, 4}}
	predict := func(s Settings) (data.Estimate, *Model) {
		m, truth := clusterJob(t, "ours", 1.5, s, oneNode)
		p, err := m.Predict(far)
		if want := truth.StepTime(far); err != nil || p.StepTime.Lo > want || p.StepTime.Hi < want {
			t.Errorf("interval %+v misses %.4g; %v", p.StepTime, want, err)
		}
		return p.StepTime, m
	}
	alone, _ := predict(Settings{})
	learned, m := predict(Settings{Others: others})
	_, truth := clusterJob(t, "ours", 1.5, Settings{}, oneNode)
	off := func(e data.Estimate) float64 { return math.Abs(math.Log(e.Mean / truth.StepTime(far))) }
	width := func(e data.Estimate) float64 { return math.Log(e.Hi / e.Lo) }
	if off(learned) > off(alone) {
		t.Errorf("off by a factor e^%.2f in an interval of e^%.2f alone, by e^%.2f in one of e^%.2f with four other jobs",
			off(alone), width(alone), off(learned), width(learned))
	}
	if jobs := m.Borrowed("t4", data.AllReduce); !slices.Equal(jobs, []string{"a", "b", "c", "d"}) {
		t.Errorf("borrowed from %q", jobs)
	}
	checkRoundTripped(t, m, far)
}

// checkRoundTrip compares the predictions of a model and of its file, which it
// returns.
func checkRoundTrip(t *testing.T, m *Model, c data.Config) []byte {
	t.Helper()
	text, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(text, m.Job(), m.seed)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := m.Predict(c)
	if got, err := back.Predict(c); err != nil || got != want {
		t.Errorf("%+v became %+v, error %v", want, got, err)
	}
	return text
}

// A borrowed prior is kept in the file, so that the model predicts the same
// without the other jobs.
func checkRoundTripped(t *testing.T, m *Model, c data.Config) {
	t.Helper()
	text := checkRoundTrip(t, m, c)
	broken := bytes.Replace(text, []byte(`"sd":`), []byte(`"sd":-`), 1)
	if _, err := Restore(broken, m.Job(), m.seed); err == nil || !strings.Contains(err.Error(), "borrowed prior") {
		t.Errorf("a negative sd: error %v", err)
	}
}

// A lender named twice counts once.
func TestLenderNamedTwice(t *testing.T) {
	other, _ := clusterJob(t, "a", 1, Settings{}, nil)
	once, _ := clusterJob(t, "ours", 1.5, Settings{Others: []*Model{other}}, oneNode)
	twice, _ := clusterJob(t, "ours", 1.5, Settings{Others: []*Model{other, other}}, oneNode)
	c := data.Config{Workers: 16, LocalBatch: 64, Placement: data.Placement{4, 4, 4, 4}}
	a, errA := once.Predict(c)
	b, errB := twice.Predict(c)
	if errA != nil || errB != nil || a != b || !slices.Equal(twice.Borrowed("t4", data.AllReduce), []string{"a"}) {
		t.Errorf("once %+v, twice %+v from %q; %v, %v", a, b, twice.Borrowed("t4", data.AllReduce), errA, errB)
	}
}

// Bytes and bandwidth determine the time between nodes: a slow link makes
// several nodes slower than a fast one.
func TestLinkOfTheUser(t *testing.T) {
	far := data.Config{Workers: 8, LocalBatch: 64, Placement: data.Placement{4, 4}}
	predict := func(bandwidth float64) float64 {
		m, _ := clusterJob(t, "ours", 1, Settings{MessageBytes: 4e8, Interconnect: bandwidth}, oneNode)
		p, err := m.StepTime(far)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if slow, fast := predict(1e8), predict(1e11); !(slow > 1.2*fast) {
		t.Errorf("%.4g s over 0.1 GB/s, %.4g s over 100 GB/s", slow, fast)
	}
	for _, s := range []Settings{{MessageBytes: -1}, {Interconnect: math.Inf(1)}, {MessageBytes: math.NaN()}} {
		if _, err := fitAll([]data.Measurement{measured(1, 32, .1)}, s); err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%+v: error %v", s, err)
		}
	}
}

// Links and other jobs do not concern the form of layouts.
func TestLayoutsBorrowNothing(t *testing.T) {
	other, _ := clusterJob(t, "a", 1, Settings{}, nil)
	var ms []data.Measurement
	for i := range 3 {
		m := measured(4<<i, 8, .1+.01*float64(i))
		m.Layout.TP = 2
		ms = append(ms, m)
	}
	m, err := fitAll(ms, Settings{Others: []*Model{other}, MessageBytes: 4e8, Interconnect: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, m, ms[2].Config)
}

// A GPU type measured on one node has the network of the other type, whose
// absolute time it keeps, or else another one, here ten times faster: the interval
// holds both, and the median is nearer to the first.
func TestNetworkOfASecondType(t *testing.T) {
	at := func(gpu string, workers int) data.Config {
		return data.Config{Job: "j", GPUType: gpu, Workers: workers, Nodes: (workers + 7) / 8, LocalBatch: 32}
	}
	slow := &form.Collective{Fixed: .004, PerBatch: .02, RefBatch: 32, Intra: .001, Inter: .06, Tree: 1, Overlap: 1.5}
	fast, faster := *slow, *slow
	fast.Fixed, fast.PerBatch, fast.Intra = slow.Fixed*.4, slow.PerBatch*.4, slow.Intra*.4
	faster.Fixed, faster.PerBatch, faster.Intra, faster.Inter = fast.Fixed, fast.PerBatch, fast.Intra, slow.Inter/10
	var ms []data.Measurement
	for _, k := range []int{1, 2, 4, 8, 16, 32} {
		c := at("a100", k)
		ms = append(ms, data.Measurement{Config: c, StepTime: slow.StepTime(c), Status: data.OK})
	}
	for _, k := range []int{1, 8} {
		c := at("h100", k)
		ms = append(ms, data.Measurement{Config: c, StepTime: fast.StepTime(c), Status: data.OK})
	}
	m, err := fitAll(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{16, 32, 64} {
		c := at("h100", k)
		p, err := m.Predict(c)
		if err != nil {
			t.Fatal(err)
		}
		same, other := fast.StepTime(c), faster.StepTime(c)
		if off := math.Log(p.Median / other); off < math.Log(same/other)/2 {
			t.Errorf("%d workers: median %.3g s; on the first type's network %.3g s, on another %.3g s", k, p.Median, same, other)
		}
		if p.StepTime.Lo > other || p.StepTime.Hi < same {
			t.Errorf("%d workers: interval %+v; on the first type's network %.3g s, on another %.3g s", k, p.StepTime, same, other)
		}
	}
	checkRoundTrip(t, m, at("h100", 64))
}

// With measurements on several nodes, a different cluster does not mislead a
// job.
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
