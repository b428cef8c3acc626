// Package filelock locks files between processes.
package filelock

import "errors"

// ErrLocked says that another process has the lock of a file.
var ErrLocked = errors.New("another process has the lock")
