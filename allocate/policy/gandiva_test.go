package policy

import (
	"testing"

	"knee/allocate"
)

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
	g = &Gandiva{leases: leases{map[string]float64{"a": sliceRound}}}
	expect(t, g, stateOf(30, 1, 0, a, b), 0, -1)
	a.History.Ran = sliceRound
	expect(t, g, stateOf(sliceRound, 1, 0, a, b), -1, 0)
}

// TestGandivaPacks: of two jobs for one GPU the second is put beside the first
// while they are expected to be faster so than by turns, together at 1.4; once
// it is seen that they are not, at 0.9, the pair is undone.
func TestGandivaPacks(t *testing.T) {
	g, share := &Gandiva{}, .7
	a, b := gangOf("a", 0, 1, 1000), gangOf("b", 0, 1, 1000)
	s := stateOf(0, 1, 0, a, b)
	s.Beside = func(_, _ int, _ string, workers int) float64 { return share / float64(workers) }
	if got := expect(t, g, s, 0, -1).Guests; len(got) != 1 || got[1] != (allocate.Guest{Host: 0, Option: 0}) {
		t.Errorf("guests %v, want b beside a", got)
	}
	s.Now, s.Jobs[0].Current, s.Jobs[1].Host, share = 30, 0, "a", .45
	s.Jobs[0].History.Ran, s.Jobs[1].History.Ran = 30, 30
	if got := expect(t, g, s, 0, -1).Guests; len(got) > 0 {
		t.Errorf("guests %v, want none", got)
	}
}
