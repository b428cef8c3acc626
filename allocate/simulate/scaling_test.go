package simulate

import (
	"math"
	"strings"
	"testing"

	"knee/data"
)

// TestStopFreeScaling: a job on two of four GPUs takes the others when its
// neighbour ends at 130 s. Both start for 30 s; it has done 200 of 600 samples by
// then.
func TestStopFreeScaling(t *testing.T) {
	c := cluster(1, 4)
	a, b := elastic(c, "a", 0, 600, 1, 1), rigid(c, "b", 0, 2, 100)
	a.Options = a.Options[1:] // two workers at least
	for _, tt := range []struct {
		stopFree           bool
		end                float64
		restarts, rescales int
	}{
		{false, 130 + 30 + 400.0/4, 1, 0},
		{true, 130 + 2 + 400.0/4, 0, 1},
	} {
		r, err := Run([]Job{a, b}, Settings{Cluster: c, Policy: mustPolicy(t, "marginal-gain"), Rules: Rules{RestartSeconds: 30, StopFree: tt.stopFree, RescaleSeconds: 2}})
		if err != nil {
			t.Fatal(err)
		}
		o := r.Jobs[0]
		if math.Abs(o.End-tt.end) > 1e-9 || o.Restarts != tt.restarts || o.Rescales != tt.rescales {
			t.Errorf("stop-free %v: %+v, want an end at %g, %d restarts, %d changes of size", tt.stopFree, o, tt.end, tt.restarts, tt.rescales)
		}
	}
}

// TestOnlyScalingIsFree: a move, however small, is none of growing and
// shrinking.
func TestOnlyScalingIsFree(t *testing.T) {
	on := func(shares ...data.NodeShare) []data.NodeShare { return shares }
	a1, a2, b2 := data.NodeShare{Node: "a", Workers: 1}, data.NodeShare{Node: "a", Workers: 2}, data.NodeShare{Node: "b", Workers: 2}
	for _, tt := range []struct {
		from, to []data.NodeShare
		gpuType  string
		want     bool
	}{
		{on(a1), on(a2), "t4", true},
		{on(a2), on(a1), "t4", true},
		{on(a2), on(a2, b2), "t4", true},
		{on(a2, b2), on(b2), "t4", true},
		{on(a2), on(b2), "t4", false},
		{on(a2), on(a1, b2), "t4", false},
		{on(a1), on(a2), "a100", false},
	} {
		j := &running{config: data.Config{GPUType: "t4"}, nodes: tt.from}
		if got := inPlace(j, data.Config{GPUType: tt.gpuType}, tt.to); got != tt.want {
			t.Errorf("from %v to %v on %s: in place %v", tt.from, tt.to, tt.gpuType, got)
		}
	}
}

func TestReadBounds(t *testing.T) {
	jobs, _, err := ReadWorkload(strings.NewReader("name,time,workers,elastic,workers_min,workers_max\na,1,4,false,,\nb,1,4,true,2,8\nc,1,4,,,\n"), "w.csv")
	if err != nil {
		t.Fatal(err)
	}
	if a, b, c := jobs[0], jobs[1], jobs[2]; !a.Rigid || b.Rigid || b.WorkersMin != 2 || b.WorkersMax != 8 || c.Bounded() {
		t.Errorf("got %+v", jobs)
	}
	for _, tt := range []struct{ row, want string }{
		{"a,1,4,maybe,,,", `w.csv:2:elastic: found "maybe", want true or false`},
		{"a,1,,false,,,", `w.csv:2:workers: found ""`},
		{"a,1,4,,9,8,", `w.csv:2:workers_max: found "8", want at least workers_min, 9`},
		{"a,1,4,,5,8,", `w.csv:2:workers: found "4", want workers_min to workers_max, 5 to 8`},
		{"a,1,4,,0,8,", `w.csv:2:workers_min: found "0"`},
		{"a,1,4,,1,2.5,", `w.csv:2:workers_max: found "2.5"`},
		{"a,1,4,,,,6", `w.csv:2:workers: found "4", want a number that divides logical_workers, 6`},
	} {
		_, _, err := ReadWorkload(strings.NewReader("name,time,workers,elastic,workers_min,workers_max,logical_workers\n"+tt.row+"\n"), "w.csv")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.row, err, tt.want)
		}
	}
}
