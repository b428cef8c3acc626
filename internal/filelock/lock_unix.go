//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the advisory lock of f, or fails at once: with ErrLocked if
// another process has it. The lock goes with the file descriptor, so a killed
// process holds nothing.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
