package policy

import "testing"

// TestTypeInOutage: where all nodes of a GPU type are out, every policy leaves it empty
// and serves the job on the other type.
func TestTypeInOutage(t *testing.T) {
	for _, e := range policies() {
		s := stateOf(1000, 2, 2, gangOf("a", 0, 1, 500, 50))
		s.Jobs[0].Remaining = 500
		s.Cluster.Nodes[1].Drained = true
		a, err := e.make().Allocate(s)
		if err != nil {
			t.Fatal(e.name, err)
		}
		if a.Choice[0] != 0 {
			t.Errorf("%s: choice %d, want the slow type", e.name, a.Choice[0])
		}
	}
}
