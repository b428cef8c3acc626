//go:build unix

package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/data"
	"knee/profile/launch"
)

func TestLocalWatchesGPUs(t *testing.T) {
	dir := t.TempDir()
	script := `#!/bin/sh
n=$(cat ` + dir + `/n 2>/dev/null || echo 0); echo $((n + 1)) >` + dir + `/n
echo "0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 80000, 90"; echo '1, GPU-b, NVIDIA A100-SXM4-80GB, 81920, 4, 0'
`
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, log, err := run(t, t.Context(), data.Config{Workers: 1, GPUType: "a100"}, grace, step+"echo CUDA out of memory; exit 1")
	var f *launch.Failure
	if want := "GPU 0 (a100-80gb): memory peak 78.1 GiB of 80.0 GiB"; !errors.As(err, &f) || f.Status != data.OOM || !strings.HasSuffix(f.Detail, want) || !strings.Contains(log, want+", busy 90 % of the time") {
		t.Errorf("err = %v, log:\n%s\nwant …%s", err, log, want)
	}
	if strings.Contains(log, "GPU 1") {
		t.Errorf("a GPU that did nothing is in the log:\n%s", log)
	}
	os.Remove(dir + "/n")
	if _, _, err := run(t, t.Context(), data.Config{Workers: 1, GPUType: "cpu"}, grace, step); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/n"); err == nil {
		t.Error("nvidia-smi was asked about a trial on processors")
	}
}
