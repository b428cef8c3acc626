package place

import (
	"testing"

	"knee/data"
)

func TestFit(t *testing.T) {
	c := &data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "t4", GPUs: 4}, {Name: "b", GPUType: "t4", GPUs: 4}, {Name: "small", GPUType: "t4", GPUs: 2}}}
	h := FitOf(c, "t4", data.Need{})
	for w, want := range map[int]string{1: "1", 4: "4", 5: "3-2", 6: "3-3", 8: "4-4", 9: "4-3-2", 10: "4-4-2"} {
		got, ok := h.Even(w)
		if !ok || got.String() != want {
			t.Errorf("%d workers stand as %s, want %s", w, got, want)
		}
	}
	for w, want := range map[int]string{1: "1", 4: "4", 5: "", 6: "3-3", 8: "4-4", 9: "", 10: ""} {
		if got, _ := h.Equal(w); got.String() != want {
			t.Errorf("%d workers stand equally as %q, want %q", w, got, want)
		}
	}
	for w, want := range map[int]string{1: "1", 5: "4-1", 9: "4-4-1", 10: "4-4-2", 11: ""} {
		if got := h.Packed(w); got.String() != want {
			t.Errorf("%d workers are packed as %q, want %q", w, got, want)
		}
	}
	if _, ok := h.Even(11); ok {
		t.Error("11 workers fit 10 slots")
	}
	// Three cores per worker leave room for two on a node of eight cores.
	for i := range c.Nodes {
		c.Nodes[i].CPUs = 8
	}
	if got := FitOf(c, "t4", data.Need{CPUs: 3}).Total(); got != 6 {
		t.Errorf("room for %d workers of 3 cores, want 6", got)
	}
}
