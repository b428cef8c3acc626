package policy

import "testing"

// TestAntMan: of two GPUs, a claim of one leaves one to an opportunistic job; a
// second claim takes it, and the opportunistic job goes beside the claim it slows
// least, b at 0.9 and not a at 0.7; where it would slow both to less than turns it
// waits.
func TestAntMan(t *testing.T) {
	p, loss := &AntMan{}, 0.0
	p.Beside(func(job, beside, _ string, _ int) float64 {
		return map[string]float64{"a": .7, "b": .9, "x": .4}[job] - loss
	})
	a, b, x := gangOf("a", 0, 1, 1000), gangOf("b", 20, 1, 1000), gangOf("x", 10, 1, 1000)
	x.Opportunistic = true
	expect(t, p, stateOf(10, 2, 0, a, x), 0, 0)
	a.Current, x.Current = 0, 0
	expect(t, p, stateOf(20, 2, 0, a, x, b), 0, -1, 0)
	if got := p.Guests(); len(got) != 1 || got[1] != [2]int{2, 0} {
		t.Errorf("guests %v, want x beside b", got)
	}
	b.Current, x.Current, loss = 0, -1, .2
	expect(t, p, stateOf(30, 2, 0, a, x, b), 0, -1, 0)
	if got := p.Guests(); len(got) > 0 {
		t.Errorf("guests %v, want none", got)
	}
}
