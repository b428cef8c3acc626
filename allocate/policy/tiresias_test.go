package policy

import (
	"testing"

	"knee/allocate"
)

func mustAllocate(t *testing.T, p allocate.Policy, s allocate.State) allocate.Assignment {
	t.Helper()
	a, err := p.Allocate(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTiresiasQueues: a job sinks when it has had 3250 GPU-seconds, and is asked
// about then; below, the one that was submitted first goes first.
func TestTiresiasQueues(t *testing.T) {
	first, second := gangOf("first", 0, 2, 9000), gangOf("second", 10, 2, 9000)
	p := Tiresias{}
	s := stateOf(10, 2, 0, first, second)
	s.Jobs[0].Attained = 3000
	expect(t, p, s, 0, -1)
	if wake := mustAllocate(t, p, s).Wake; wake != 10+250.0/2 {
		t.Errorf("asks to be called at %g s, want 135", wake)
	}
	s.Jobs[0].Attained, s.Jobs[0].History.Ran = 3250, 1625
	expect(t, p, s, -1, 0)
}

// TestGittinsOrdersEveryQueue: in the third queue too the job with the larger
// index goes first. Of services 9000 and 90000 GPU-s, one that has had 8900 is
// done within the next 3250 with one chance in two and 3350 to spend, one that
// has had 20000 is not.
func TestGittinsOrdersEveryQueue(t *testing.T) {
	far, near := gangOf("far", 0, 1, 70000), gangOf("near", 5, 1, 100)
	far.Attained, near.Attained = 20000, 8900
	expect(t, Tiresias{Gittins: true}, stateOf(100, 1, 0, far, near), -1, 0)
}
