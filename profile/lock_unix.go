//go:build unix

package profile

import (
	"os"
	"syscall"
)

// lockFile takes the advisory lock of f, or fails at once if another process
// has it. The lock goes with the file descriptor, so a killed process holds
// nothing.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
