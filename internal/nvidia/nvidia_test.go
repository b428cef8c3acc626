package nvidia_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/internal/nvidia"
)

// The format is that of nvidia-smi --help-query-gpu: columns divided by a
// comma and a space, memory in MiB, and [N/A] for what a driver does not tell.
func TestParse(t *testing.T) {
	got, err := nvidia.Parse(strings.NewReader(`0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 1024, 97
1, GPU-b, NVIDIA A100-SXM4-80GB, 81920, 0, 0
2, GPU-c, Tesla V100-PCIE-16GB, 16384, 5, [N/A]
3, GPU-d, NVIDIA GB10, [Not Supported], [N/A], 3
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []nvidia.GPU{
		{0, "GPU-a", "NVIDIA A100-SXM4-80GB", 80 << 30, 1 << 30, 97},
		{1, "GPU-b", "NVIDIA A100-SXM4-80GB", 80 << 30, 0, 0},
		{2, "GPU-c", "Tesla V100-PCIE-16GB", 16 << 30, 5 << 20, -1},
		{3, "GPU-d", "NVIDIA GB10", 0, 0, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.": "line 1: found",
		"0, GPU-a, A100, 81920, 0, 0\nx, GPU-b, A100, 81920, 0, 0":                      `line 2: found "x", want the index`,
		"0, GPU-a, A100, much, 0, 0":                                                    "want memory in MiB",
		"0, GPU-a, A100, 81920, -1, 0":                                                  "want memory in MiB",
		"0, GPU-a, A100, 81920, 0, 101":                                                 "want a utilisation",
		"0, GPU-a, , 81920, 0, 0":                                                       "no name",
	} {
		if g, err := nvidia.Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want …%s…", text, g, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 1024, 97\n")
	f.Add("0, GPU-a, \"x\", [N/A], 1e9, NaN")
	f.Fuzz(func(t *testing.T, text string) {
		gpus, _ := nvidia.Parse(strings.NewReader(text))
		for _, g := range gpus {
			if g.Index < 0 || g.Name == "" || g.Memory < 0 || g.Used < 0 || !(g.Utilization >= -1 && g.Utilization <= 100) {
				t.Errorf("%q was read as %+v", text, g)
			}
		}
	})
}

// fake puts an nvidia-smi that runs a shell script on PATH.
func fake(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for nvidia-smi is a shell script")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestList(t *testing.T) {
	t.Run("absent", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := nvidia.List(t.Context()); !nvidia.Absent(err) || !strings.Contains(err.Error(), "nvidia-smi is not installed") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("asks for what it reads", func(t *testing.T) {
		fake(t, `[ "$*" = "--query-gpu=index,uuid,name,memory.total,memory.used,utilization.gpu --format=csv,noheader,nounits" ] && echo '0, GPU-a, NVIDIA T4, 15360, 3, 0'`)
		if got, err := nvidia.List(t.Context()); err != nil || len(got) != 1 || got[0].Name != "NVIDIA T4" {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("driver gone", func(t *testing.T) {
		fake(t, "echo 'NVIDIA-SMI has failed'; exit 9")
		if _, err := nvidia.List(t.Context()); err == nil || nvidia.Absent(err) || !strings.Contains(err.Error(), "NVIDIA-SMI has failed") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("no GPU", func(t *testing.T) {
		fake(t, "exit 0")
		if _, err := nvidia.List(t.Context()); err == nil || !strings.Contains(err.Error(), "lists no GPU") {
			t.Errorf("err = %v", err)
		}
	})
}

func TestWatch(t *testing.T) {
	// Memory rises with every call, utilisation goes 0, 50, 100, 100 …
	count := filepath.Join(t.TempDir(), "n")
	fake(t, `n=$(cat `+count+` 2>/dev/null || echo 0); echo $((n + 1)) >`+count+`
busy=$((n * 50)); [ $busy -gt 100 ] && busy=100
echo "0, GPU-a, NVIDIA T4, 15360, $((1024 * (n + 1))), $busy"; echo '1, GPU-b, NVIDIA T4, 15360, 3, [N/A]'`)
	stop, err := nvidia.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	peaks := stop()
	if len(peaks) != 2 || peaks[0].Most < 1<<30 || peaks[0].Busy < 0 || peaks[1].Busy != -1 || peaks[1].Most != 3<<20 {
		t.Errorf("%+v", peaks)
	}
}
