//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the advisory lock of f. It does not wait: the error is ErrLocked if
// another process has the lock. The lock ends with the file descriptor, also when
// the process is killed.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
