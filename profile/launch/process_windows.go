package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a child in a process group of its own, so that Ctrl-C in
// the terminal reaches knee alone.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup ends the process: there is no polite way that every
// Windows program understands.
func terminateGroup(group int) { killGroup(group) }

// killGroup ends the process. Its own children are not reached.
func killGroup(group int) {
	if p, err := os.FindProcess(group); err == nil {
		_ = p.Kill()
	}
}

func exitCode(cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// peakResident returns 0: Windows does not keep it for a process that has ended.
func peakResident(*os.ProcessState) float64 { return 0 }
