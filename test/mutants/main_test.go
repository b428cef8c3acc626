package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A package of two comparisons, one of which its test binds.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.21\n",
		"m.go":      "package m\n\nfunc Bound(a, b int) bool { return a < b }\nfunc Loose(a, b int) bool { return a >= b }\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tif Bound(1, 1) || Loose(1, 2) {\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	all, err := mutantsOf(".")
	if err != nil || len(all) != 2 {
		t.Fatalf("%v %v, want two mutants", all, err)
	}
	for i, want := range []int{killed, passed} {
		if got, err := all[i].test(".", time.Minute); got != want || err != nil {
			t.Errorf("mutant %d at line %d: outcome %d %v, want %d", i, all[i].line, got, err, want)
		}
	}
	all[0].to = 0 // not Go
	if got, err := all[0].test(".", time.Minute); got != broken || err != nil {
		t.Errorf("what does not compile: outcome %d %v, want %d", got, err, broken)
	}
}
