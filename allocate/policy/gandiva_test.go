package policy

import "testing"

// TestGandivaSlices: two jobs share one GPU by turns of a slice; alone, a job
// grows beyond what it asked for; when another comes it gives that back.
func TestGandivaSlices(t *testing.T) {
	g := &Gandiva{}
	a, b := gangOf("a", 0, 1, 1000), gangOf("b", 0, 1, 1000)
	wide := gangOf("a", 0, 2, 500)
	a.Options = append(a.Options, wide.Options[0])
	expect(t, g, stateOf(0, 2, 0, a), 1) // grows from one to two
	a.Current = 1
	expect(t, g, stateOf(10, 2, 0, a, b), 0, 0)
	a.Current, b.Current = 0, -1
	a.History.Ran = 30
	g = &Gandiva{leases{map[string]float64{"a": sliceRound}}}
	expect(t, g, stateOf(30, 1, 0, a, b), 0, -1)
	a.History.Ran = sliceRound
	expect(t, g, stateOf(sliceRound, 1, 0, a, b), -1, 0)
}
