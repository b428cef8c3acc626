// Package filelock locks files between processes.
package filelock

import "errors"

// ErrLocked: another process has locked the file.
var ErrLocked = errors.New("another process has the lock")
