package policy

import "testing"

// TestThemisAuction: two bidders of equal age want the one fast GPU. x would end
// in 100 s there and 400 s on the slow one, y in 1000 and 1100 s. With x on the
// fast one the improvements are 1300/100 · 2200/1100 = 26, the other way round
// 1300/400 · 2200/1000 = 7.15. By ρ alone y, which is worse off, would choose
// first and take it.
func TestThemisAuction(t *testing.T) {
	s := stateOf(0, 1, 1, gangOf("y", 0, 1, 1100, 1000), gangOf("x", 0, 1, 400, 100))
	q := newQueue(s)
	if err := auction(q, []int{0, 1}); err != nil {
		t.Fatal(err)
	}
	if q.choice[0] != 0 || q.choice[1] != 1 {
		t.Errorf("choices %v, want y on slow and x on fast", q.choice)
	}
}

// TestThemisLease: who holds a GPU keeps it until its lease ends, though one
// that is worse off waits; then that one gets it.
func TestThemisLease(t *testing.T) {
	p := &Themis{}
	long, late := gangOf("long", 0, 1, 5000), gangOf("late", 100, 1, 50)
	expect(t, p, stateOf(0, 1, 0, long), 0)
	long.Current = 0
	long.History.Ran = 100
	s := stateOf(100, 1, 0, long, late)
	expect(t, p, s, 0, -1)
	if wake := mustAllocate(t, p, s).Wake; wake != themisLease {
		t.Errorf("asks to be called at %g s, want %d, when the lease ends", wake, themisLease)
	}
	long.History.Ran = themisLease
	expect(t, p, stateOf(themisLease, 1, 0, long, late), -1, 0)
}
