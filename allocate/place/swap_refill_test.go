package place

import (
	"slices"
	"testing"

	"knee/allocate"
	"knee/data"
)

// TestExchange: two jobs of three workers leave one slot on each of two
// nodes, and a job of two stands on both, at half its speed. No other job
// makes room for it at less than it lost; but if one gives up a worker, it
// gets two slots on one node and leaves one to the other.
func TestExchange(t *testing.T) {
	option := func(value float64, counts ...int) allocate.Option {
		p := data.Placement(counts)
		c := data.Config{GPUType: "t4", Mode: data.AllReduce, Placement: p, Nodes: len(p), Workers: p.Workers()}
		return allocate.Option{Config: c, Value: value, Use: allocate.UseOf(c, data.Resources{})}
	}
	three := []allocate.Option{option(1, 1), option(1.5, 2), option(2.8, 3), option(4, 4)}
	s := allocate.State{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []allocate.JobState{
		{Name: "a", Options: three, Current: allocate.None},
		{Name: "b", Options: three, Current: allocate.None},
		{Name: "c", Options: []allocate.Option{option(0.1, 1), option(1.6, 2)}, Current: allocate.None},
	}}
	a := allocate.Assignment{Choice: []int{2, 2, 1}}
	apart := func(_ int, c data.Config, _ *allocate.Option) (allocate.Option, bool) {
		return allocate.Option{Config: c, Value: 0.5, Use: allocate.UseOf(c, data.Resources{})}, true
	}
	placed, placer := All(s, a, make([]Standing, 3), apart)
	var sum float64
	var sizes []int
	for _, x := range placed {
		sum += x.Option.Value
		sizes = append(sizes, x.Option.Config.Workers)
	}
	slices.Sort(sizes[:2])
	if want := []int{2, 4, 2}; !slices.Equal(sizes, want) || sum < 7.09 || placer.Free()["t4"] != 0 {
		t.Errorf("sizes %v worth %g with %v free, want %v", sizes, sum, placer.Free(), want)
	}
	// What is tried and not kept leaves no trace.
	before := New(s.Cluster)
	for _, x := range placed {
		before.Take(x.Nodes, data.Resources{})
	}
	for i := range before.nodes {
		if before.nodes[i].gpus != placer.nodes[i].gpus {
			t.Errorf("node %s has %d slots free, want %d", placer.nodes[i].name, placer.nodes[i].gpus, before.nodes[i].gpus)
		}
	}
}
