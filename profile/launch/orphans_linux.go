package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killOrphans kills every process that was started with the variable mark,
// "NAME=value", in its environment: descendants of a trial in other sessions
// and process groups, such as torchrun's workers, which a signal to the trial's
// group does not reach. Other users' processes cannot be read.
func killOrphans(mark string) {
	// A killed process may have forked after the list was made.
	for range 10 {
		found := false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environs {
			env, err := os.ReadFile(path) // empty for an ended process
			if err != nil || !hasVariable(env, mark) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}

func hasVariable(env []byte, mark string) bool {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == mark {
			return true
		}
	}
	return false
}
