//go:build unix

package launch

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup makes a child the leader of a process group, out of reach of Ctrl-C.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(group int) { _ = syscall.Kill(-group, syscall.SIGTERM) }

func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// exitCode returns the exit code of a process, 128 plus the signal that ended it.
func exitCode(cmd *exec.Cmd) int {
	if cmd.ProcessState != nil {
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal())
		}
	}
	return cmd.ProcessState.ExitCode() // -1 for nil
}

// peakResident returns the largest resident set (bytes) of an ended process or its children;
// 0 if not known, as it begins as a copy of this one: a peak below ours is unknown.
func peakResident(state *os.ProcessState) float64 {
	if state == nil {
		return 0
	}
	used, ok := state.SysUsage().(*syscall.Rusage)
	var own syscall.Rusage
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || used.Maxrss <= own.Maxrss {
		return 0
	}
	unit := 1024.0 // KiB on Linux and the BSDs
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return float64(used.Maxrss) * unit
}
