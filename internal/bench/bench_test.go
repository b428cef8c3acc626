package bench

import "testing"

func TestDir(t *testing.T) {
	want := t.TempDir()
	t.Setenv("KNEE_BENCH", want)
	if got := Dir(t); got != want {
		t.Errorf("dir = %s, want what KNEE_BENCH names, %s", got, want)
	}
	t.Setenv("KNEE_BENCH", want+"/absent")
	skipped := false
	t.Run("absent", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Dir(t)
	})
	if !skipped {
		t.Error("a test ran without its data")
	}
}
