package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine answers programs by name; others are not installed. server is the
// address of an API server, if there is one.
func machine(t *testing.T, answers map[string]string, failures map[string]error, server string) Machine {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "")
	if server != "" {
		config := filepath.Join(home, "config")
		text := fmt.Sprintf("current-context: m\ncontexts: [{name: m, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", server)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", config)
	}
	return Machine{
		Dir: t.TempDir(),
		Run: func(_ context.Context, name string, _ ...string) (string, error) {
			if err, ok := failures[name]; ok {
				return "", err
			}
			if out, ok := answers[name]; ok {
				return out, nil
			}
			return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
		},
	}
}

func find(t *testing.T, all []Finding, check string) Finding {
	t.Helper()
	for _, f := range all {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding on %q in %+v", check, all)
	return Finding{}
}

func TestBareMachine(t *testing.T) {
	all := Examine(context.Background(), machine(t, nil, nil, ""))
	for _, name := range []string{"gpu", "pytorch", "slurm", "kubernetes"} {
		if f := find(t, all, name); f.Status != Missing || f.Advice == "" {
			t.Errorf("%s on a bare machine: %+v; want missing, with what to do", name, f)
		}
	}
	if f := find(t, all, "folder"); f.Status != Here {
		t.Errorf("an empty folder is %+v", f)
	}
}

func TestWhatIsThere(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"gitVersion": "v1.34.1 at %s"}`, r.URL.Path)
	}))
	defer api.Close()
	all := Examine(context.Background(), machine(t, map[string]string{
		"nvidia-smi": "NVIDIA A100-SXM4-80GB, 81920 MiB\nNVIDIA A100-SXM4-80GB, 81920 MiB",
		"python3":    "2.3.1 2 nccl,gloo",
		"sbatch":     "slurm 23.02.6",
		"sinfo":      "4 idle\n2 mixed",
	}, nil, api.URL))
	for check, want := range map[string]string{
		"gpu":        "2 × NVIDIA A100-SXM4-80GB, 81920 MiB",
		"pytorch":    "python3: torch 2.3.1, 2 GPUs, backends nccl,gloo",
		"slurm":      "slurm 23.02.6: 4 idle, 2 mixed",
		"kubernetes": api.URL + ", Kubernetes v1.34.1 at /version",
	} {
		if f := find(t, all, check); f.Status != Here || !strings.Contains(f.Found, want) {
			t.Errorf("%s: %+v; want %q", check, f, want)
		}
	}
}

func TestBroken(t *testing.T) {
	exit := errors.New("exit status 9")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "code": 403, "message": "no access, exit status 9"}`)
	}))
	defer api.Close()
	all := Examine(context.Background(), machine(t, map[string]string{"sbatch": "slurm 23.02.6"},
		map[string]error{"nvidia-smi": exit, "sinfo": exit, "python3": fmt.Errorf("%w: ImportError: libcudart.so", exit)}, api.URL))
	for _, name := range []string{"gpu", "slurm", "kubernetes", "pytorch"} {
		if f := find(t, all, name); f.Status != Broken || f.Advice == "" || !strings.Contains(f.Found, "exit status 9") {
			t.Errorf("%s: %+v; want broken, with the reason and what to do", name, f)
		}
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m := machine(t, nil, nil, "")
	m.Dir = file
	if f := find(t, Examine(context.Background(), m), "folder"); f.Status != Broken {
		t.Errorf("a file in place of the folder: %+v", f)
	}
}

// Errors of real programs contain their standard error.
func TestRunSaysWhy(t *testing.T) {
	_, err := run(context.Background(), "sh", "-c", "echo first >&2; echo second >&2; exit 3")
	if err == nil || err.Error() != "exit status 3: second" {
		t.Errorf("got %v", err)
	}
}
