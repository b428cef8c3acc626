package allocate

import (
	"math"
	"testing"

	"knee/data"
)

// twoTypes is a cluster with a drained node, and a group of two tenants.
func twoTypes() *State {
	option := func(gpuType string, gpus int) Option {
		return Option{Use: Use{GPUType: gpuType, GPUs: gpus, CPUs: float64(2 * gpus)}}
	}
	return &State{
		Cluster: &data.Cluster{Nodes: []data.Node{
			{Name: "a", GPUType: "a100", GPUs: 4, CPUs: 32}, {Name: "b", GPUType: "a100", GPUs: 4, CPUs: 32, Drained: true}, {Name: "c", GPUType: "t4", GPUs: 2}}},
		Tenants: map[string]data.Tenant{
			"group": {Name: "group", Quota: map[string]int{"a100": 3}}, "ann": {Name: "ann", Parent: "group", Quota: map[string]int{"a100": 2}}, "bob": {Name: "bob", Parent: "group"}},
		Jobs: []JobState{
			{Options: []Option{option("a100", 2), option("t4", 2)}, History: History{Tenant: "ann"}},
			{Options: []Option{option("a100", 2)}, History: History{Tenant: "bob"}},
			{Options: []Option{option("h100", 1)}}},
	}
}

// Limits are those of the nodes that are not drained; a node without a number of cores
// has no limit, so that neither have all nodes together.
func TestCapacity(t *testing.T) {
	c := twoTypes().Capacity()
	want := map[string]float64{"GPUs of type a100": 4, "cores beside GPUs of type a100": 32, "GPUs of type t4": 2}
	for i, name := range c.names {
		if limit, known := want[name]; !known || c.Limit[i] != limit {
			t.Errorf("%s: %g, want %g", name, c.Limit[i], limit)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("no dimension of %v", want)
	}
	if v, most := c.Shares(c.Branch("a100", ""), &Use{GPUType: "a100", GPUs: 1, CPUs: 16}); most != .5 || v[0] != .25 {
		t.Errorf("shares %v, largest %g; want a quarter of the GPUs and half of the cores", v, most)
	}
	if _, most := c.Shares(c.Branch("h100", ""), &Use{GPUType: "h100", GPUs: 1}); !math.IsInf(most, 1) {
		t.Errorf("of a type without nodes: share %g, want +Inf", most)
	}
}

// A tally names the quota that is exceeded, the tenant's own before its group's, and
// forgets what is taken back.
func TestTally(t *testing.T) {
	s := twoTypes()
	y := s.Tally()
	own, other := &s.Jobs[0].Options[0].Use, &s.Jobs[1].Options[0].Use
	if at := y.Add(0, own, 1); at >= 0 {
		t.Errorf("the quota of two: %q is exceeded", y.names[at])
	}
	if at := y.Add(1, other, 1); y.Tenant(at) != "group" {
		t.Errorf("four of the group's three: the quota of %q is exceeded", y.Tenant(at))
	}
	y.Add(1, other, -1)
	if at := y.Add(0, own, 1); y.Tenant(at) != "ann" {
		t.Errorf("four of her two: the quota of %q is exceeded", y.Tenant(at))
	}
	y.Add(0, own, -1)
	if at := y.Add(2, &s.Jobs[2].Options[0].Use, 1); at < 0 || y.Tenant(at) != "" {
		t.Errorf("a type without nodes: dimension %d of %q", at, y.Tenant(at))
	}
	if at := y.Add(2, nil, 1); at >= 0 {
		t.Error("nothing exceeds a limit")
	}
}
