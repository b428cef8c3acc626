package pollux

import "testing"

// TestRanIsTimeWithWorkers: a job that holds nothing does not run, whatever
// the clock says.
func TestRanIsTimeWithWorkers(t *testing.T) {
	j := &job{}
	if err := j.advance(3600); err != nil {
		t.Fatal(err)
	}
	if j.ran != 0 || j.clock != 3600 {
		t.Errorf("has run for %g s at %g s, want 0", j.ran, j.clock)
	}
	j.nodes, j.delay = []int{0, 1}, 60 // sits through a restart
	if err := j.advance(60); err != nil {
		t.Fatal(err)
	}
	if j.ran != 60 || j.attained != 120 {
		t.Errorf("has run for %g s, %g GPU-seconds, want 60 and 120", j.ran, j.attained)
	}
}
