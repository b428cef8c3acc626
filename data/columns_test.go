package data

import (
	"fmt"
	"strings"
	"testing"
)

// Rows are read in batches: an empty cell does not keep what the row of an earlier batch had
// in its place, and errors name the line.
func TestBatchesOfRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("job,workers,step_time_s,sync_time_s,error\n")
	const rows = 1000
	for i := range rows {
		if i < rows/2 {
			fmt.Fprintf(&b, "a,1,%d,0.5,slow\n", i+1)
		} else {
			fmt.Fprintf(&b, "a,1,%d,,\n", i+1)
		}
	}
	ms, _, err := ReadMeasurements(strings.NewReader(b.String()), "f")
	if err != nil || len(ms) != rows {
		t.Fatalf("%d rows, %v", len(ms), err)
	}
	for i, m := range ms {
		first := i < rows/2
		if m.StepTime != float64(i+1) || (m.SyncTime == .5) != first || (m.Error == "slow") != first || m.Source.Line != i+2 {
			t.Fatalf("row %d: %+v", i, m)
		}
	}
	if _, _, err := ReadMeasurements(strings.NewReader(b.String()+"a,1,1,-1,\n"), "f"); err == nil || !strings.Contains(err.Error(), `f:1002:sync_time_s: found "-1"`) {
		t.Errorf("row 1001: %v", err)
	}
}
