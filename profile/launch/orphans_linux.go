package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
			if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), mark) {
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
