package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"knee/internal/kube"
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
	text, _ := os.ReadFile("/proc/meminfo")
	available := regexp.MustCompile(`MemAvailable: +(\d+) kB`).FindSubmatch(text)
	if available == nil {
		return Finding{Status: Here, Found: "unknown on this system"}
	}
	kib, _ := strconv.ParseFloat(string(available[1]), 64) // the expression matches digits
	f := Finding{Status: Here, Found: fmt.Sprintf("%.1f GiB available", kib/(1<<20))}
	if kib < 1<<20 {
		f.Advice = "less than 1 GiB is available: the system may kill trials, which are then recorded as out of memory"
	}
	return f
}

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

// askTorch prints the version of PyTorch, its GPUs and its backends.
const askTorch = `import torch, torch.distributed as d
print(torch.__version__, torch.cuda.device_count(), ",".join(b for b in ("nccl", "gloo", "mpi") if d.is_available() and getattr(d, "is_%s_available" % b, lambda: True)()))`

// pytorch asks the first python3 on the PATH and the system's: several are common.
func pytorch(ctx context.Context, m Machine) Finding {
	var broken *Finding
	found := false
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		out, err := m.Run(ctx, python, "-c", askTorch)
		if err == nil {
			version, rest, _ := strings.Cut(out, " ")
			gpus, backends, _ := strings.Cut(rest, " ")
			return Finding{Status: Here, Found: fmt.Sprintf("%s: torch %s, %s GPUs, backends %s", python, version, gpus, cmp.Or(backends, "none"))}
		}
		if errors.Is(err, exec.ErrNotFound) || strings.Contains(err.Error(), "no such file") {
			continue
		}
		found = true
		if !strings.Contains(err.Error(), "No module named 'torch'") && broken == nil {
			broken = &Finding{Status: Broken, Found: python + ": " + err.Error(), Advice: "repair this installation of PyTorch, or name another python3 in the study's command"}
		}
	}
	switch {
	case broken != nil:
		return *broken
	case !found:
		return absent("python3", "install Python and PyTorch: apt-get install python3-torch, or pip install torch")
	}
	return Finding{Status: Missing, Found: "python3 without torch", Advice: "apt-get install python3-torch, or pip install torch"}
}

func slurm(ctx context.Context, m Machine) Finding {
	version, err := m.Run(ctx, "sbatch", "--version")
	if errors.Is(err, exec.ErrNotFound) {
		return absent("sbatch", "run knee on a login node of the cluster, or install Slurm's client commands (slurm-client)")
	}
	if err != nil && strings.Contains(err.Error(), "configuration source") {
		return Finding{Status: Missing, Found: "Slurm's commands, but no configuration", Advice: "set SLURM_CONF to the slurm.conf of the cluster"}
	}
	if err != nil {
		return Finding{Status: Broken, Found: err.Error(), Advice: "make slurm.conf readable (SLURM_CONF)"}
	}
	nodes, err := m.Run(ctx, "sinfo", "--noheader", "--format=%D %T")
	if err != nil {
		return Finding{Status: Broken, Found: version + ", " + err.Error(), Advice: "the controller does not answer: run scontrol ping, and check that munge runs"}
	}
	return Finding{Status: Here, Found: version + ": " + strings.Join(strings.Fields(strings.ReplaceAll(nodes, "\n", ", ")), " ")}
}

// kubernetes asks the API server for its version, with the credentials of trials.
func kubernetes(ctx context.Context, _ Machine) Finding {
	const advice = "set KUBECONFIG to the cluster's configuration"
	c, err := kube.Load(kube.Settings{})
	switch {
	case err != nil && strings.Contains(err.Error(), "found no cluster"):
		return Finding{Status: Missing, Found: "no cluster configured", Advice: advice}
	case err != nil:
		return Finding{Status: Broken, Found: err.Error(), Advice: advice}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var version struct{ GitVersion string }
	if err := c.Get(ctx, "/version", &version); err != nil {
		return Finding{Status: Broken, Found: err.Error(), Advice: "run kubectl config get-contexts, and check that the API server can be reached"}
	}
	return Finding{Status: Here, Found: fmt.Sprintf("%s, Kubernetes %s", c.Server, version.GitVersion)}
}
