package shell_test

import (
	"os/exec"
	"strings"
	"testing"

	"knee/internal/shell"
)

// FuzzQuote: a quoted word survives the shell unchanged.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a b", "it's", "$HOME", "`id`", "a\nb", "!x", "~", "é", "-n", "*", "=", "a=b"} {
		f.Add(s)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("bash is not installed, so quoting is not checked")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return
		}
		out, err := exec.Command(bash, "--norc", "-c", "printf %s "+shell.Quote(s)).CombinedOutput()
		if err != nil || string(out) != s {
			t.Fatalf("Quote(%q) = %s reads as %q (%v)", s, shell.Quote(s), out, err)
		}
	})
}
