package pollux

import (
	"testing"

	"knee/data"
)

// TestRanIsTimeWithWorkers: a job that holds nothing does not run, whatever
// the clock says.
func TestRanIsTimeWithWorkers(t *testing.T) {
	j := &job{}
	if p, err := j.Pass(3600); err != nil || p.Ran != 0 || j.clock != 3600 {
		t.Errorf("has run for %g s at %g s (%v), want 0", p.Ran, j.clock, err)
	}
	j.placement, j.delay = data.Placement{1, 1}, 60 // sits through a restart
	if p, err := j.Pass(60); err != nil || p.Ran != 60 || p.GPUSeconds != 120 {
		t.Errorf("has run for %g s, %g GPU-seconds (%v), want 60 and 120", p.Ran, p.GPUSeconds, err)
	}
}
