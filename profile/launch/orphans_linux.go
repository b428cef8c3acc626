package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killOrphans kills every process that was started with the variable mark,
// "NAME=value", in its environment: what a trial left behind in sessions and
// groups of its own, as torchrun gives its workers, where a signal to the
// group of the trial does not reach it. Processes of other users are not
// looked into.
func killOrphans(mark string) {
	// What is killed may have forked after the list was made.
	for range 10 {
		found := false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environs {
			env, err := os.ReadFile(path) // empty of one that has ended
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

// hasVariable reports whether an environment, as /proc has it, holds mark.
func hasVariable(env []byte, mark string) bool {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == mark {
			return true
		}
	}
	return false
}
