package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRunning: a job runs in the configuration and on the nodes that it was said to run on;
// nodes of servers alone are no part of its placement.
func TestRunning(t *testing.T) {
	c := Config{GPUType: "t4", Mode: PSSync, Workers: 3, PS: 2, LocalBatch: 32, AccumSteps: 1}
	cur := Running(c, []NodeShare{{Node: "a", Workers: 2, PS: 1}, {Node: "b", PS: 1}, {Node: "c", Workers: 1}})
	if diff := cmp.Diff([]NodeShare{{Node: "a", Workers: 2}, {Node: "c", Workers: 1}}, cur.Shares()); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]NodeShare{{Node: "a", Workers: 2, PS: 1}, {Node: "c", Workers: 1}, {Node: "b", PS: 1}}, cur.Parts()); diff != "" {
		t.Errorf("shares with servers (-want +got):\n%s", diff)
	}
	c.Placement, c.Nodes = Placement{2, 1}, 2
	if diff := cmp.Diff(c, cur.Config()); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	cur.Nodes = nil
	if got := cur.Shares(); got != nil {
		t.Errorf("shares %v of unknown nodes", got)
	}
	if got := (*Current)(nil).Shares(); got != nil {
		t.Errorf("shares %v of a job that does not run", got)
	}
}
