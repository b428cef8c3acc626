package allocate

import (
	"fmt"
	"testing"

	"knee/data"
)

func TestShape(t *testing.T) {
	c := testCluster(append(nodes("t4", 2, 4), data.Node{Name: "small", GPUType: "t4", GPUs: 2})...)
	h := newHall(c, "t4", data.Need{})
	for w, want := range map[int]string{1: "1", 4: "4", 5: "3-2", 6: "3-3", 8: "4-4", 9: "4-3-2", 10: "4-4-2"} {
		got, ok := h.shape(w)
		if !ok || got.String() != want {
			t.Errorf("%d workers stand as %s, want %s", w, got, want)
		}
	}
	if _, ok := h.shape(11); ok {
		t.Error("11 workers fit 10 slots")
	}
	// Three cores per worker leave room for two on a node of eight cores.
	for i := range c.Nodes {
		c.Nodes[i].CPUs = 8
	}
	if got := newHall(c, "t4", data.Need{CPUs: 3}).total(); got != 6 {
		t.Errorf("room for %d workers of 3 cores, want 6", got)
	}
}

func TestPlacerPrefersAndFallsBack(t *testing.T) {
	c := testCluster(append(nodes("t4", 3, 4), data.Node{Name: "cpu1", GPUType: "cpu", CPUs: 4})...)
	p := NewPlacer(c)
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
	if _, ok := p.PlaceShape(Request{Config: four}); ok {
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
	p := NewPlacer(c)
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
