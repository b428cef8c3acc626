// Package doctor checks what knee can use on a machine. A missing part is not an error: each
// check says what needs it, and what to install or set. A check is one function and one line
// in the registry.
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

// Status is the result of a check.
type Status string

const (
	Here    Status = "ok"
	Missing Status = "missing" // not installed, perhaps on purpose
	Broken  Status = "broken"  // installed, but does not work
)

// Finding is the outcome of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`            // description, such as a version
	For    string `json:"for"`              // what knee uses it for
	Advice string `json:"advice,omitempty"` // what to do about it, unless ok
}

// Machine is what checks use of a machine, by default this one.
type Machine struct {
	// Run returns standard output; an error ends with the last complaint. Nil: this machine.
	Run func(ctx context.Context, name string, args ...string) (string, error)
	Dir string // the folder that measurements go to; empty for the current one
}

type check struct {
	name, purpose string
	look          func(context.Context, Machine) Finding
}

// checks is the registry: one line for each check, in the order shown.
func checks() []check {
	return []check{
		{"processors", "trials on this machine", processors},
		{"memory", "trials on this machine", memory},
		{"folder", "the journal of a study", folder},
		{"gpu", "gpu_type, GPU memory and use during trials", gpu},
		{"pytorch", "examples/pytorch and training scripts like it", pytorch},
		{"slurm", "launcher: {slurm: …}, knee cluster --from slurm", slurm},
		{"kubernetes", "launcher: {kubernetes: …}, knee cluster --from kubernetes", kubernetes},
	}
}

// answerTimeout is how long one program may take to answer.
const answerTimeout = 20 * time.Second

// Examine runs every check, one after the other.
func Examine(ctx context.Context, m Machine) []Finding {
	if m.Run == nil {
		m.Run = run
	}
	m.Dir = cmp.Or(m.Dir, ".")
	var out []Finding
	for _, c := range checks() {
		limited, cancel := context.WithTimeout(ctx, answerTimeout)
		f := c.look(limited, m)
		cancel()
		f.Check, f.For = c.name, c.purpose
		out = append(out, f)
	}
	return out
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() > 0 {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(lines[len(lines)-1])) // where programs print the reason
	}
	return strings.TrimSpace(string(out)), err
}

func absent(program, advice string) Finding {
	return Finding{Status: Missing, Found: "no " + program + " on the PATH", Advice: advice}
}

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
