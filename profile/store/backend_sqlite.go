package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// openSQLite opens a file. Transactions wait up to ten seconds for the write lock at their
// begin; later they could fail despite the wait.
func openSQLite(a address, beside func(string) string) (gorm.Dialector, error) {
	path := strings.TrimPrefix(a.text, "sqlite:")
	path = beside(strings.TrimPrefix(path, "//"))
	if strings.Contains(path, "?") {
		return nil, fmt.Errorf("found a ? in the path %q, want a path without", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the folder %s is not there", filepath.Dir(path))
	}
	return sqlite.Open(path + "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"), nil
}

// sqliteTemporary reports whether a retry may succeed (file locked, disk full),
// by SQLite's primary result codes: BUSY, LOCKED, NOMEM, IOERR, FULL, CANTOPEN.
func sqliteTemporary(err error) bool {
	e, ok := errors.AsType[*gosqlite.Error](err)
	if !ok {
		return connectionLost(err)
	}
	return slices.Contains([]int{5, 6, 7, 10, 13, 14}, e.Code()&0xff)
}
