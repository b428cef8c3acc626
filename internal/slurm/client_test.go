package slurm_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"knee/internal/slurm"
)

// What a user has set for his own use of squeue hides no job from knee.
func TestSettingsOfTheUser(t *testing.T) {
	dir := t.TempDir()
	const squeue = "#!/bin/sh\nenv | grep -E '^(SQUEUE_|SLURM_)' | sort\n"
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte(squeue), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("SQUEUE_PARTITION", "cpu")
	t.Setenv("SLURM_TIME_FORMAT", "relative")
	t.Setenv("SLURM_CONF", "/etc/slurm.conf")
	got, err := slurm.Named(t.Context(), "a")
	if want := []string{"SLURM_CONF=/etc/slurm.conf"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
