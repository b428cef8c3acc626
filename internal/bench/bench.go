// Package bench finds published measurements that tests and benchmarks read. The
// data is not part of the project: without it they are skipped.
package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder KNEE_BENCH, by default shared/bench beside the
// repository, and skips the test if the folder does not exist.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("KNEE_BENCH")
	if dir == "" {
		dir = filepath.Join(root(tb), "..", "shared", "bench")
	}
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("no measured data at %s; set KNEE_BENCH to the folder that holds it", dir)
	}
	return dir
}

// root returns the folder of go.mod above the package under test.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the package under test")
		}
	}
	tb.Fatal(err)
	return ""
}
