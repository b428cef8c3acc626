package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"knee/internal/filelock"
)

// A lock excludes others until the file is closed.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := filelock.Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(second); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("a second lock: %v, want %v", err, filelock.ErrLocked)
	}
	first.Close()
	if err := filelock.Lock(second); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}
