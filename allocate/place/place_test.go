package place

import (
	"fmt"
	"testing"

	"knee/data"

	"pgregory.net/rapid"
)

func TestPlacerPrefersAndFallsBack(t *testing.T) {
	c := testCluster(append(nodes("t4", 3, 4), data.Node{Name: "cpu1", GPUType: "cpu", CPUs: 4})...)
	p := New(c)
	place := func(r Request) string {
		s, ok := p.Place(r)
		return fmt.Sprint(s, ok)
	}
	two := data.Config{GPUType: "t4", Workers: 2, Placement: data.Placement{2}}
	if got := place(Request{Config: two, Current: []data.NodeShare{{Node: "t42", Workers: 1}}}); got != "[{t42 2 0}] true" {
		t.Errorf("current node first: %s", got)
	}
	if got := place(Request{Config: two}); got != "[{t42 2 0}] true" {
		t.Errorf("best fit next: %s", got)
	}
	// 4 servers of one core each beside workers on nodes without core limits.
	ps := data.Config{GPUType: "t4", Mode: data.PSSync, Workers: 4, PS: 2, Placement: data.Placement{2, 2}}
	if got := place(Request{Config: ps}); got != "[{t41 2 1} {t43 2 1}] true" {
		t.Errorf("equal parts of workers and ps: %s", got)
	}
	four := data.Config{GPUType: "t4", Workers: 4, Placement: data.Placement{4}}
	if _, ok := p.placeShape(Request{Config: four}); ok {
		t.Error("4 workers on one node, where no node has 4 free")
	}
	if p.Fragmentation() != 1 {
		t.Errorf("fragmentation %g, want 1: all 4 free slots are on partly used nodes", p.Fragmentation())
	}
	if got := place(Request{Config: four}); got != "[{t41 2 0} {t43 2 0}] true" {
		t.Errorf("uneven way out: %s", got)
	}
	if got := place(Request{Config: two}); got != "[] false" {
		t.Errorf("full cluster: %s", got)
	}
}

func TestServersGoWhereThereAreCores(t *testing.T) {
	c := testCluster(data.Node{Name: "g", GPUType: "t4", GPUs: 4, CPUs: 5}, data.Node{Name: "c", GPUType: "cpu", CPUs: 4})
	r := Request{Config: data.Config{GPUType: "t4", Workers: 4, PS: 3, Placement: data.Placement{4}},
		Resources: data.Resources{Worker: data.Need{CPUs: 1}, PS: data.Need{CPUs: 1}}}
	p := New(c)
	s, ok := p.Place(r)
	if got := fmt.Sprint(s, ok); got != "[{g 4 1} {c 0 2}] true" {
		t.Errorf("got %s", got)
	}
	p.Release(s, r.Resources)
	r.Config.PS = 6
	if s, ok := p.Place(r); ok {
		t.Errorf("6 servers and 4 workers on 9 cores: %v", s)
	}
	if s, ok := p.Place(Request{Config: data.Config{GPUType: "t4", Workers: 4, Placement: data.Placement{4}}}); !ok {
		t.Errorf("a failed placement took something: %v", s)
	}
}

func testCluster(nodes ...data.Node) *data.Cluster { return &data.Cluster{Nodes: nodes} }

func nodes(gpuType string, count, gpus int) []data.Node {
	var out []data.Node
	for i := range count {
		out = append(out, data.Node{Name: fmt.Sprintf("%s%d", gpuType, i+1), GPUType: gpuType, GPUs: gpus})
	}
	return out
}

// TestReleaseGivesBack: what was taken by name is free again when it is
// released, on all nodes alike, and the next job stands where the first did.
func TestReleaseGivesBack(t *testing.T) {
	p := New(testCluster(nodes("t4", 3, 4)...))
	r := Request{Config: data.Config{GPUType: "t4", Workers: 6, Placement: data.Placement{3, 3}}, Resources: data.Resources{Worker: data.Need{CPUs: 2}}}
	first, ok := p.Place(r)
	if !ok || p.Free()["t4"] != 6 {
		t.Fatalf("%v, %d free", first, p.Free()["t4"])
	}
	p.Release(first, r.Resources)
	if p.Free()["t4"] != 12 || p.Fragmentation() != 0 {
		t.Errorf("%d free, fragmentation %g", p.Free()["t4"], p.Fragmentation())
	}
	p.Take(first, r.Resources)
	if p.Free()["t4"] != 6 {
		t.Errorf("%d free", p.Free()["t4"])
	}
	p.Release(first, r.Resources)
	if again, _ := p.Place(r); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("%v, then %v", first, again)
	}
}

// TestReleaseGivesBackWhatPlaceTook: jobs come and go in any order; no node is
// ever over its slots, and when all have gone everything is free as before.
func TestReleaseGivesBackWhatPlaceTook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testCluster(append(nodes("t4", rapid.IntRange(1, 6).Draw(t, "nodes"), 4), data.Node{Name: "c", GPUType: "cpu", CPUs: 8})...)
		p := New(c)
		empty := fmt.Sprint(p.Free())
		need := data.Resources{Worker: data.Need{CPUs: 0.1}, PS: data.Need{CPUs: 1}}
		var standing [][]data.NodeShare
		used := map[string]int{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if len(standing) > 0 && rapid.Bool().Draw(t, "ends") {
				i := rapid.IntRange(0, len(standing)-1).Draw(t, "which")
				p.Release(standing[i], need)
				for _, s := range standing[i] {
					used[s.Node] -= s.Workers
				}
				standing = append(standing[:i], standing[i+1:]...)
				continue
			}
			r := Request{Config: data.Config{GPUType: "t4", Workers: rapid.IntRange(1, 6).Draw(t, "workers"), PS: rapid.IntRange(0, 3).Draw(t, "ps")}, Resources: need}
			if rapid.Bool().Draw(t, "limited") {
				r.Only = map[string]bool{}
				for _, n := range c.Nodes {
					r.Only[n.Name] = rapid.Bool().Draw(t, n.Name)
				}
			}
			room := 0
			for _, n := range c.Nodes {
				if n.GPUType == "t4" && (r.Only == nil || r.Only[n.Name]) {
					room += 4 - used[n.Name]
				}
			}
			s, ok := p.Place(r)
			if !ok && r.Config.PS == 0 && room >= r.Config.Workers {
				t.Fatalf("no place for %d workers with room for %d", r.Config.Workers, room)
			}
			if !ok {
				continue
			}
			for _, x := range s {
				if r.Only != nil && !r.Only[x.Node] {
					t.Fatalf("on node %s, which it may not use", x.Node)
				}
				if used[x.Node] += x.Workers; used[x.Node] > 4 {
					t.Fatalf("node %s holds %d workers on 4 GPUs", x.Node, used[x.Node])
				}
			}
			standing = append(standing, s)
		}
		for _, s := range standing {
			p.Release(s, need)
		}
		if got := fmt.Sprint(p.Free()); got != empty || p.Fragmentation() != 0 {
			t.Fatalf("free %s, at first %s; fragmentation %g", got, empty, p.Fragmentation())
		}
	})
}

// TestApart: a job that is planned for one node keeps off the nodes of a job that spans
// nodes once its workers or servers need several, and shares one otherwise.
func TestApart(t *testing.T) {
	need := data.Resources{Worker: data.Need{CPUs: 1}, PS: data.Need{CPUs: 1}}
	for name, tt := range map[string]struct {
		config data.Config
		want   string
	}{
		"one node":          {data.Config{GPUType: "t4", Workers: 2, Placement: data.Placement{2}}, "[{t41 2 0}] true"},
		"no node has three": {data.Config{GPUType: "t4", Workers: 3, Placement: data.Placement{3}}, "[] false"},
		"servers elsewhere": {data.Config{GPUType: "t4", Workers: 2, PS: 2, Placement: data.Placement{2}}, "[] false"},
	} {
		c := testCluster(append(nodes("t4", 2, 4), data.Node{Name: "cpu1", GPUType: "cpu", CPUs: 4})...)
		c.Nodes[0].CPUs, c.Nodes[1].CPUs = 5, 5
		p := New(c)
		p.Take([]data.NodeShare{{Node: "t41", Workers: 2}, {Node: "t42", Workers: 2}}, need)
		if got, ok := p.Place(Request{Config: tt.config, Resources: need, Apart: true}); fmt.Sprint(got, ok) != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}
