package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

func processors(context.Context, Machine) Finding {
	n := runtime.NumCPU()
	f := Finding{Status: Here, Found: fmt.Sprintf("%d cores, %s/%s", n, runtime.GOOS, runtime.GOARCH)}
	if n == 1 {
		f.Advice = "with one core every trial of several workers shares it: expect no scaling"
	}
	return f
}

// memory reads MemAvailable from /proc/meminfo, which only Linux has.
func memory(context.Context, Machine) Finding {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return Finding{Status: Here, Found: "unknown on this system"}
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			f := Finding{Status: Here, Found: fmt.Sprintf("%.1f GiB available", float64(kib)/(1<<20))}
			if kib < 1<<20 {
				f.Advice = "less than 1 GiB is available: the system may kill trials, which are then recorded as out of memory"
			}
			return f
		}
	}
	return Finding{Status: Here, Found: "unknown on this system"}
}

// folder creates, writes, syncs and removes a file, as a journal needs.
func folder(_ context.Context, m Machine) Finding {
	bad := func(err error) Finding {
		return Finding{Status: Broken, Found: err.Error(), Advice: "choose a writable folder with knee profile --dir"}
	}
	f, err := os.CreateTemp(m.Dir, ".knee-doctor-*")
	if err != nil {
		return bad(err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("knee\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return bad(err)
	}
	return Finding{Status: Here, Found: m.Dir + " is writable and syncs to disk"}
}

func gpu(ctx context.Context, m Machine) Finding {
	out, err := m.Run(ctx, "nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return absent("nvidia-smi", "without it trials run on processors; on a machine with NVIDIA GPUs install the driver's utilities (nvidia-utils)")
	case err != nil:
		return Finding{Status: Broken, Found: err.Error(), Advice: "the driver does not answer: check that its kernel module is loaded and that this user may open /dev/nvidia*"}
	case out == "":
		return Finding{Status: Broken, Found: "nvidia-smi lists no GPU", Advice: "check that the GPUs are not hidden from this user or container"}
	}
	lines := strings.Split(out, "\n")
	return Finding{Status: Here, Found: fmt.Sprintf("%d × %s", len(lines), strings.TrimSpace(lines[0]))}
}
