package launch_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"knee/data"
)

// A process that leaves its process group, as torchrun's workers do, is killed
// with the trial.
func TestLocalLeavesNoOrphans(t *testing.T) {
	needSetsid(t)
	pids := filepath.Join(t.TempDir(), "pids")
	_, _, err := run(t, t.Context(), data.Config{Workers: 2}, grace, fmt.Sprintf(`setsid sleep 60 & echo $! >>%s; %s`, pids, step))
	if err != nil {
		t.Fatal(err)
	}
	left := readPids(pids)
	if len(left) != 2 {
		t.Fatalf("%d processes were started, want 2", len(left))
	}
	for _, pid := range left {
		waitFor(t, func() bool { return !alive(pid) })
	}
}

func TestWatchdogEndsOrphans(t *testing.T) {
	needSetsid(t)
	killKnee(t, "setsid")
}

func needSetsid(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
}
