package policy

import (
	"testing"

	"knee/allocate"
)

// TestAntMan: of two GPUs, a claim of one leaves one to an opportunistic job; a
// second claim takes it, and the opportunistic job goes beside the claim it slows
// least, b at 0.9 and not a at 0.7; where it would slow both to less than turns it
// waits.
func TestAntMan(t *testing.T) {
	loss := 0.0
	guests := func(s allocate.State, want ...int) map[int]allocate.Guest {
		s.Beside = func(i, _ int, _ string, _ int) float64 {
			return map[string]float64{"a": .7, "b": .9, "x": .4}[s.Jobs[i].Name] - loss
		}
		return expect(t, serving(antman), s, want...).Guests
	}
	a, b, x := gangOf("a", 0, 1, 1000), gangOf("b", 20, 1, 1000), gangOf("x", 10, 1, 1000)
	x.Opportunistic = true
	guests(stateOf(10, 2, 0, a, x), 0, 0)
	a.Current, x.Current = 0, 0
	if got := guests(stateOf(20, 2, 0, a, x, b), 0, -1, 0); len(got) != 1 || got[1] != (allocate.Guest{Host: 2, Option: 0}) {
		t.Errorf("guests %v, want x beside b", got)
	}
	b.Current, x.Current, loss = 0, -1, .2
	if got := guests(stateOf(30, 2, 0, a, x, b), 0, -1, 0); len(got) > 0 {
		t.Errorf("guests %v, want none", got)
	}
}
