package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/data"
)

// script returns the directives of a trial's batch script, and its rest.
func script(t *testing.T, spec data.SlurmSpec, c data.Config) (directives []string, rest string) {
	t.Helper()
	text, err := slurmScript(spec, Trial{ID: 3, Attempt: 2, Config: c, Command: []string{"train", "it's"}, Log: "/logs/trial 100%.log", Dir: "/work dir"}, "knee-1-3-2")
	if err != nil {
		t.Fatal(err)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		cmd := exec.Command(bash, "-n")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("not a script: %s\n%s", out, text)
		}
	}
	for line := range strings.Lines(text) {
		if d, ok := strings.CutPrefix(line, "#SBATCH "); ok {
			directives = append(directives, strings.TrimSpace(d))
		} else {
			rest += line
		}
	}
	return directives, rest
}

func TestSlurmScriptAsksForTheConfiguration(t *testing.T) {
	common := []string{"--job-name=knee-1-3-2", `--output="/logs/trial 100%%.log"`, "--open-mode=append", "--no-requeue"}
	for _, tc := range []struct {
		name   string
		spec   data.SlurmSpec
		config data.Config
		want   []string
		script []string
	}{
		{"placement", data.SlurmSpec{Partition: "gpu", Account: "me", Time: 90 * time.Minute, Srun: true, Directives: []string{"--exclusive"}},
			data.Config{GPUType: "a100", Workers: 8, Placement: data.Placement{4, 4}, LocalBatch: 32},
			[]string{"--partition=gpu", "--account=me", "--time=0-01:30:00", "--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--gres=gpu:a100:4", "--exclusive"},
			[]string{"export KNEE_GLOBAL_BATCH=256\n", "export WORLD_SIZE=8\n", "cd -- '/work dir'", "\nsrun --label --kill-on-bad-exit=1 bash -c", `knee train 'it'\''s' </dev/null`, "tasks=(4 4)"}},
		{"uneven, with servers", data.SlurmSpec{Srun: true, GPUTypes: map[string]string{"a100": "nvidia_a100"}},
			data.Config{GPUType: "a100", Mode: data.PSSync, Workers: 3, PS: 2, Placement: data.Placement{2, 1}},
			[]string{"--nodes=2", "--ntasks=5", "--ntasks-per-node=3", "--gres=gpu:nvidia_a100:2"},
			[]string{"for i in 0 0 1 0 1; do", "--distribution=arbitrary", "tasks=(3 2)", "for ((j = 0; j < 2; j++))"}},
		{"per node", data.SlurmSpec{Srun: true, PerNode: true}, data.Config{GPUType: "a100", Workers: 8, Placement: data.Placement{4, 4}},
			[]string{"--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--gres=gpu:a100:4"}, []string{"--ntasks-per-node=1 bash -c"}},
		{"any type", data.SlurmSpec{GPUTypes: map[string]string{"a100": ""}}, data.Config{GPUType: "a100", Workers: 2},
			[]string{"--nodes=1", "--ntasks=2", "--ntasks-per-node=2", "--gres=gpu:2"}, []string{"\ntrain 'it'\\''s'\ncode=$?"}},
		{"no type", data.SlurmSpec{}, data.Config{Workers: 1}, []string{"--nodes=1", "--ntasks=1", "--ntasks-per-node=1"}, nil},
		{"processors", data.SlurmSpec{Srun: true}, data.Config{GPUType: "cpu", Workers: 1, Nodes: 1}, []string{"--nodes=1", "--ntasks=1", "--ntasks-per-node=1"},
			[]string{"export OMP_NUM_THREADS=1\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			directives, rest := script(t, tc.spec, tc.config)
			if want := append(slices.Clone(common), tc.want...); !slices.Equal(directives, want) {
				t.Errorf("directives\n %q, want\n %q", directives, want)
			}
			for _, want := range tc.script {
				if !strings.Contains(rest, want) {
					t.Errorf("the script misses %q:\n%s", want, rest)
				}
			}
		})
	}
	_, err := slurmScript(data.SlurmSpec{}, Trial{Config: data.Config{Workers: 2, Nodes: 3}, Command: []string{"x"}}, "n")
	var f *Failure
	if !errors.As(err, &f) || f.Status != data.Infeasible {
		t.Errorf("2 workers on 3 nodes: %v, want it to be infeasible", err)
	}
}

// Every rank has a place: each node holds the workers of the placement and
// its share of the servers, and ranks go by node, workers first.
func TestSlurmLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		placement := data.Placement(rapid.SliceOfN(rapid.IntRange(1, 8), 1, 6).Draw(t, "placement"))
		c := data.Config{Workers: placement.Workers(), Placement: placement, PS: rapid.IntRange(0, 9).Draw(t, "ps")}
		l := newSlurmLayout(data.SlurmSpec{Srun: true}, c)
		nodes := strings.Fields(l.RankNodes())
		if l.PerNode.Workers() != c.Workers+c.PS || len(nodes) != l.PerNode.Workers() {
			t.Fatalf("%d tasks, %d ranks; want %d", l.PerNode.Workers(), len(nodes), c.Workers+c.PS)
		}
		counts := make([]int, len(placement))
		for rank, n := range nodes {
			i := int(n[0] - '0')
			counts[i]++
			if rank < c.Workers && rank > 0 && n < nodes[rank-1] {
				t.Fatalf("worker %d is on node %s, the one before on %s", rank, n, nodes[rank-1])
			}
		}
		if !slices.Equal(counts, l.PerNode) || slices.Max(l.PerNode)-slices.Min(l.PerNode) > slices.Max(placement)-slices.Min(placement)+1 {
			t.Fatalf("ranks per node %v, tasks per node %v, placement %v", counts, l.PerNode, placement)
		}
	})
}

func tailOf(path string, p Parser) (*tail, chan Observation) {
	obs := make(chan Observation, 1000)
	return &tail{path: path, out: output{heard: newHeard(p, Trial{}, obs), name: "it"}}, obs
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	parser, err := NewParser(data.Metrics{Regex: `^step (?P<step>\d+)(?: took (?P<step_time_s>[\d.]+))?`})
	if err != nil {
		t.Fatal(err)
	}
	tl, obs := tailOf(path, parser)
	read := func(text string) []float64 {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := tl.read(context.Background()); err != nil {
			t.Fatal(err)
		}
		var steps []float64
		for len(obs) > 0 {
			steps = append(steps, (<-obs).Step)
		}
		return steps
	}
	if err := tl.read(t.Context()); err != nil {
		t.Fatalf("a file that is not there yet: %v", err)
	}
	for _, tc := range []struct {
		text string
		want []float64
	}{
		{"knee: trial begins on n1\nstep 1 took 0.1\nstep 2 took", []float64{1}},
		{" 0.2\nhello\n", []float64{2}},
		// Steps without a time are timed on arrival: one per read.
		{"step 3\nstep 4\nstep 5\n", []float64{5}},
		{"step 6 took 0.1\r\nstep 7 took 0.1\n", []float64{6, 7}},
		{"step 6 took 0.1\rstep 7 took 0.2\rstep 8", []float64{6, 7}},
		{"\r", []float64{8}},
		{strings.Repeat("z", 3*maxLine) + "\nstep 8 took 1\n", []float64{8}},
		{"srun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Exited with exit code 1\n", nil},
		{"knee: trial ends with exit status 137\n", nil},
	} {
		if got := read(tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("%.40q: steps %v, want %v", tc.text, got, tc.want)
		}
	}
	if tl.begun != 1 || !tl.ended || tl.exit != 137 || tl.task != "n1: task 0: Killed" || len(tl.out.last) > maxLine || !strings.HasPrefix(tl.out.last, "zzz") {
		t.Errorf("begun %d, ended %v with %d, task %q, last %.20q", tl.begun, tl.ended, tl.exit, tl.task, tl.out.last)
	}
}

// The output of a job that is followed again is read at once: its steps were made before.
func TestTailOfALongOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "knee: {\"step\":%d}\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	tl, obs := tailOf(path, Parser{})
	if err := tl.read(t.Context()); err != nil || len(obs) != 1 || (<-obs).Step != 19_999 {
		t.Errorf("%v, %d steps, want the last one", err, len(obs)+1)
	}
}

// The result does not depend on how the output is split into reads.
func TestTailInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{`knee: {"step":1,"step_time_s":0.5}`, "hello", "", "knee: trial begins on n1", "CUDA out of memory", "knee: trial ends with exit status 3"})).Draw(t, "lines")
		text := strings.Join(lines, "\n") + "\n"
		whole, wholeObs := tailOf("", Parser{})
		pieces, piecesObs := tailOf("", Parser{})
		if err := whole.take(context.Background(), []byte(text), false); err != nil {
			t.Fatal(err)
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if err := pieces.take(context.Background(), []byte(rest[:n]), false); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if len(wholeObs) != len(piecesObs) || whole.out.last != pieces.out.last || whole.out.oom != pieces.out.oom || whole.begun != pieces.begun || whole.exit != pieces.exit {
			t.Fatalf("whole %+v, in pieces %+v", whole, pieces)
		}
	})
}

func TestTaskExit(t *testing.T) {
	for words, want := range map[string]int{" 0: Exited with exit code 3": 3, "s 0-3: Killed": 137, " 0: Out Of Memory": 137,
		" 0: Segmentation fault (core dumped)": 139, " 0: a new word": 99} {
		if got := taskExit(words, 99); got != want {
			t.Errorf("%q: %d, want %d", words, got, want)
		}
	}
	if got := slurmTime(26*time.Hour + 30*time.Second); got != "1-02:01:00" || slurmTime(0) != "" {
		t.Errorf("26 h 30 s is %q", got)
	}
}
