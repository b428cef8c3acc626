package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a child in a process group, which Ctrl-C does not reach.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup kills the process: Windows has no termination signal.
func terminateGroup(group int) { killGroup(group) }

// killGroup kills the process, but not its children.
func killGroup(group int) {
	if p, err := os.FindProcess(group); err == nil {
		_ = p.Kill()
	}
}

func exitCode(cmd *exec.Cmd) int { return cmd.ProcessState.ExitCode() } // -1 for nil

// peakResident returns 0: Windows does not keep the peak of an ended process.
func peakResident(*os.ProcessState) float64 { return 0 }
