package policy

import "testing"

// TestAstraeaRemembers: a tenant whose job has left is still charged for it, so
// that the next job of the other goes first.
func TestAstraeaRemembers(t *testing.T) {
	p := &Astraea{}
	had := gangOf("had", 0, 1, 100)
	had.History.Tenant, had.Attained, had.Current = "greedy", 5000, 0
	waits := gangOf("waits", 10, 1, 100)
	waits.History.Tenant = "greedy"
	expect(t, p, stateOf(10, 1, 0, had, waits), 0, -1)
	other := gangOf("other", 20, 1, 100)
	other.History.Tenant = "modest"
	expect(t, p, stateOf(20, 1, 0, waits, other), -1, 0)
	// Accounts are compared in full beyond 1e8 GPU-seconds too.
	waits.Attained, other.Attained = 3e8, 3e8+1e4
	expect(t, p, stateOf(30, 1, 0, waits, other), 0, -1)
}
