package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// killOrphans kills processes with the variable mark, "NAME=value", in their environment:
// descendants in other sessions and groups, such as torchrun's workers, of this user.
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
