//go:build unix

package launch

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a child at the head of a process group of its own, so that
// it can be ended together with everything it starts, and so that Ctrl-C in
// the terminal reaches knee alone.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks every process of a group to end.
func terminateGroup(group int) { _ = syscall.Kill(-group, syscall.SIGTERM) }

// killGroup ends every process of a group.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// exitCode returns the exit code of a process as a shell would give it: 128
// plus the signal number if a signal ended it.
func exitCode(cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		return -1
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
