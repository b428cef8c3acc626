package plan

import (
	"fmt"
	"testing"

	"knee/data"
)

func TestShape(t *testing.T) {
	c := testCluster(append(nodes("t4", 2, 4), data.Node{Name: "small", GPUType: "t4", GPUs: 2})...)
	h := newNodeFit(c, "t4", data.Need{})
	for w, want := range map[int]string{1: "1", 4: "4", 5: "3-2", 6: "3-3", 8: "4-4", 9: "4-3-2", 10: "4-4-2"} {
		got, ok := h.shape(w)
		if !ok || got.String() != want {
			t.Errorf("%d workers stand as %s, want %s", w, got, want)
		}
	}
	for w, want := range map[int]string{1: "1", 4: "4", 5: "", 6: "3-3", 8: "4-4", 9: "", 10: ""} {
		if got, _ := h.equalShape(w); got.String() != want {
			t.Errorf("%d workers stand equally as %q, want %q", w, got, want)
		}
	}
	if _, ok := h.shape(11); ok {
		t.Error("11 workers fit 10 slots")
	}
	// Three cores per worker leave room for two on a node of eight cores.
	for i := range c.Nodes {
		c.Nodes[i].CPUs = 8
	}
	if got := newNodeFit(c, "t4", data.Need{CPUs: 3}).total(); got != 6 {
		t.Errorf("room for %d workers of 3 cores, want 6", got)
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
