package slurm_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/internal/slurm"
)

// plain.txt is what scontrol show node --oneliner of Slurm 22.05 says of six
// nodes, one of them drained.
func TestNodes(t *testing.T) {
	want := []slurm.Node{}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6"} {
		n := slurm.Node{Name: name, CPUs: 16, Memory: 64000 << 20, GRES: []slurm.GRES{{Name: "gpu", Type: "a100", Count: 4}},
			States: []string{"IDLE"}, Partitions: []string{"main"}, Features: []string{"(null)"}}
		if name > "n4" {
			n.GRES[0].Type = "v100"
		}
		if name == "n6" {
			n.States = []string{"IDLE", "DRAIN"}
		}
		want = append(want, n)
	}
	for file, parse := range map[string]func(string) ([]slurm.Node, error){
		"plain.txt": slurm.ParseNodes,
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		for i, n := range got {
			if n.Usable() != (i < 5) {
				t.Errorf("%s: node %s usable: %v", file, n.Name, n.Usable())
			}
		}
	}
}

// Jobs get what the system leaves, also on nodes that sleep to save power.
func TestNodesOfTheCloud(t *testing.T) {
	got, err := slurm.ParseNodes("NodeName=a CPUEfctv=92 CPUTot=96 RealMemory=1120000 MemSpecLimit=16000 State=IDLE+CLOUD+POWERED_DOWN\n" +
		"NodeName=b CPUTot=8 RealMemory=1000 State=IDLE+DRAIN\n")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got[0], got[1]; !a.Usable() || b.Usable() || a.CPUs != 92 || a.Memory != 1104000<<20 || b.CPUs != 8 {
		t.Errorf("%+v", got)
	}
}

func TestNodesRefused(t *testing.T) {
	for _, text := range []string{"", "CPUTot=4 RealMemory=1", "NodeName=a CPUTot=many", "NodeName=a Gres=a:b:c:d:4", "NodeName=a RealMemory=99999999999999999"} {
		if n, err := slurm.ParseNodes(text); err == nil {
			t.Errorf("%q was read as %+v", text, n)
		}
	}
}

func TestParseGRES(t *testing.T) {
	for text, want := range map[string][]slurm.GRES{
		"(null)":                        nil,
		"gpu":                           {{Name: "gpu", Count: 1}},
		"gpu:4":                         {{Name: "gpu", Count: 4}},
		"gpu:a100":                      {{Name: "gpu", Type: "a100", Count: 1}},
		"gpu:a100:4(S:0-1)":             {{Name: "gpu", Type: "a100", Count: 4}},
		"gpu:a100:2(S:0,2),gpu:v100:1":  {{Name: "gpu", Type: "a100", Count: 2}, {Name: "gpu", Type: "v100", Count: 1}},
		"shard:8K,bandwidth:no_consume": {{Name: "shard", Count: 8192}, {Name: "bandwidth", Count: 1}},
	} {
		got, err := slurm.ParseGRES(text)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestStates(t *testing.T) {
	for state, want := range map[string]string{
		"PENDING": "waiting", "REQUEUED": "waiting preempted", "CONFIGURING": "waiting", "RUNNING": "", "COMPLETING": "", "SUSPENDED": "",
		"COMPLETED": "ended", "OUT_OF_MEMORY": "ended", "NODE_FAIL": "ended preempted", "PREEMPTED": "ended preempted", "TIMEOUT": "ended",
	} {
		var got []string
		j := slurm.Job{State: state}
		for word, is := range map[string]bool{"waiting": j.Waiting(), "ended": j.Ended()} {
			if is {
				got = append(got, word)
			}
		}
		if j.Preempted() {
			got = append(got, "preempted")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s is %q, want %q", state, s, want)
		}
	}
}

// What commands say decides whether asking again may help.
func TestErrorsAreToldApart(t *testing.T) {
	for text, want := range map[string]string{
		"slurm_load_jobs error: Unable to contact slurm controller (connect failure)":                            "unreachable",
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":                    "unreachable",
		"sbatch: error: Batch job submission failed: Requested node configuration is not available":              "impossible",
		"sbatch: error: Batch job submission failed: Invalid partition name specified":                           "",
		"sbatch: error: CPU count per node can not be satisfied Requested node configuration is not available":   "impossible",
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified": "",
	} {
		err := error(&slurm.CommandError{Command: "sbatch", Text: text, Err: errors.New("exit status 1")})
		got := ""
		if slurm.Unreachable(err) {
			got = "unreachable"
		}
		if slurm.Impossible(err) {
			got += "impossible"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if slurm.Unreachable(context.Canceled) {
		t.Error("any error is taken for an unreachable controller")
	}
}

func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := slurm.Installed(); err == nil || !strings.Contains(err.Error(), "login node") {
		t.Errorf("err = %v, want a hint at what is missing", err)
	}
	if _, err := slurm.Submit(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "not on PATH") {
		t.Errorf("err = %v, want a hint at what is missing", err)
	}
}

// An invalid count is not taken for a type.
func TestParseGRESRefuses(t *testing.T) {
	for _, text := range []string{"gpu:v100:abc", "gpu:v100:4:2", ":4", "gpu:v100:-1"} {
		if got, err := slurm.ParseGRES(text); err == nil {
			t.Errorf("%s read as %+v, want an error", text, got)
		}
	}
}

func FuzzParseNodes(f *testing.F) {
	for _, file := range []string{"plain.txt"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("NodeName=a Gres=gpu:4K State=")
	f.Fuzz(func(t *testing.T, text string) {
		plain, _ := slurm.ParseNodes(text)
		for _, n := range plain {
			if n.Name == "" || n.CPUs < 0 || n.Memory < 0 {
				t.Errorf("%q was read as %+v", text, n)
			}
			for _, g := range n.GRES {
				if g.Name == "" || g.Count < 0 {
					t.Errorf("%q has %+v", text, g)
				}
			}
		}
	})
}
