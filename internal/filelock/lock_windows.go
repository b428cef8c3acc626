package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes the lock of f. It does not wait: the error is ErrLocked if another
// process has the lock. The lock ends with the handle, also when the process is
// killed. It covers a byte beyond the data, so that others can read the file.
func Lock(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
