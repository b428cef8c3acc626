//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the advisory lock of f, or fails at once: with errLocked if
// another process has it. The lock goes with the file descriptor, so a killed
// process holds nothing.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
