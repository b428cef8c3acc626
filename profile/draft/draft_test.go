package draft_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
	"knee/profile/draft"
	"knee/profile/space"
)

func read(t interface {
	Fatalf(string, ...any)
}, text string) *data.Study {
	s, err := data.ReadStudy(strings.NewReader(text), "study.yaml")
	if err != nil {
		t.Fatalf("the draft is no study: %v\n%s", err, text)
	}
	return s
}

// A draft must be a study whose command, for the configuration that the user
// typed, is the command that the user typed.
func TestCommandComesBack(t *testing.T) {
	word := rapid.OneOf(rapid.StringMatching(`[a-z]{1,6}(\.py|\.sh)?`), rapid.StringMatching(`--[a-z]{1,8}=[ -~]{0,8}`),
		rapid.SampledFrom([]string{"it's", "a: b", "", "#x", "true", "1e3", "[", "ä\tö", "- x", "*"}))
	rapid.Check(t, func(t *rapid.T) {
		command := append([]string{rapid.SampledFrom([]string{"python", "torchrun", "./train.sh"}).Draw(t, "program")},
			rapid.SliceOfN(word, 0, 6).Draw(t, "args")...)
		batch := rapid.IntRange(1, 4096).Draw(t, "batch")
		if rapid.Bool().Draw(t, "joined") {
			command = append(command, fmt.Sprintf("--batch-size=%d", batch))
		} else {
			command = append(command, "--per_device_train_batch_size", fmt.Sprint(batch))
		}
		if slices.ContainsFunc(command, func(a string) bool { return strings.Contains(a, "{{") }) {
			t.Skip("templates are the user's own")
		}
		d := draft.New(command, draft.Machine{GPUType: "a100", GPUs: 8, Cores: 64}, ".")
		s := read(t, d.Text)
		got, err := space.Command(s, data.Config{Job: s.Job, GPUType: "a100", Workers: 8, LocalBatch: float64(batch)})
		if err != nil {
			t.Fatalf("%v\n%s", err, d.Text)
		}
		if !slices.Equal(got, command) {
			t.Fatalf("the command comes back as %q, want %q\n%s", got, command, d.Text)
		}
	})
}

func TestDraft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte("from knee_report import report\nimport torch.distributed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		command []string
		machine draft.Machine
		want    []string // of the text
		notes   int
	}{
		{"torchrun on GPUs", []string{"torchrun", "--nproc-per-node=4", "train.py", "--batch", "64"}, draft.Machine{GPUType: "a100", GPUs: 6, Cores: 32},
			[]string{"job: train", "ranks: false", "'--nproc-per-node={{.WorkersPerNode}}'", "'{{.LocalBatch}}'", "workers: [1, 2, 4, 6]", "min: 16, max: 128", "# --batch was 64"}, 0},
		{"a script on processors", []string{"python3", "train.py", "--batch_size=8"}, draft.Machine{GPUType: "cpu", Cores: 2},
			[]string{"ranks: true", "gpu_type: [cpu]", "workers: [1, 2]", "min: 2, max: 16"}, 0},
		{"no batch, no script, no lines", []string{"python3", "other.py"}, draft.Machine{GPUType: "cpu", Cores: 1},
			[]string{"job: other", "workers: [1]", "# local_batch"}, 3},
		{"a batch that is no number", []string{"python3", "train.py", "--batch=auto"}, draft.Machine{GPUType: "cpu", Cores: 1},
			[]string{"--batch=auto"}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := draft.New(c.command, c.machine, dir)
			read(t, d.Text)
			for _, w := range c.want {
				if !strings.Contains(d.Text, w) {
					t.Errorf("the draft lacks %q:\n%s", w, d.Text)
				}
			}
			if len(d.Notes) != c.notes {
				t.Errorf("notes %q; want %d", d.Notes, c.notes)
			}
		})
	}
}

// What a launcher or a script says of its configuration is found in the
// words of each.
func TestDraftOfLaunchers(t *testing.T) {
	for _, tc := range []struct {
		command string
		want    []string
		notes   []string // beside that on the lines, a part of each
	}{
		{"accelerate launch --num_processes 4 train.py --per_device_train_batch_size 8 --gradient_accumulation_steps 4",
			[]string{"--num_processes, '{{.Workers}}'", "'{{.LocalBatch}}'", "'{{.MicroSteps}}'", "accum_steps: [3]", "min: 2, max: 16"}, nil},
		{"deepspeed --num_gpus=4 train.py --micro_batch_size 8", []string{"'--num_gpus={{.WorkersPerNode}}'"}, nil},
		{"mpirun -np 4 python train.py -b 32 -n 5", []string{"-np, '{{.Workers}}'", "-n, '5'"}, nil},
		{"torchrun --nproc_per_node=gpu train.py --batch 8", []string{"--nproc_per_node=gpu"}, []string{"number of processes"}},
		{"python train.py -n 5 --batch 8", []string{"-n, '5'", "ranks: true"}, nil},
		{"python train.py data.batch_size=64 BATCH=3", []string{"'data.batch_size={{.LocalBatch}}'", "BATCH=3", "min: 16, max: 128"}, nil},
		{"python train.py --micro-batch-size 4 --global-batch-size 64", []string{"min: 1, max: 8"}, nil},
		{"torchrun --nproc-per-node=4 train.py --global-batch 64", []string{"min: 4, max: 32"}, nil},
		{"python train.py --batch 0.25", []string{"min: 1, max: 1"}, nil},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte("# knee_report, DDP"), 0o644); err != nil {
			t.Fatal(err)
		}
		d := draft.New(strings.Fields(tc.command), draft.Machine{GPUType: "a100", GPUs: 8, Cores: 64}, dir)
		read(t, d.Text)
		for _, w := range tc.want {
			if !strings.Contains(d.Text, w) {
				t.Errorf("%s: the draft lacks %q:\n%s", tc.command, w, d.Text)
			}
		}
		if len(d.Notes) != len(tc.notes) || len(d.Notes) > 0 && !strings.Contains(d.Notes[0], tc.notes[0]) {
			t.Errorf("%s: notes %q, want %q", tc.command, d.Notes, tc.notes)
		}
	}
}

// What a script imports tells how its speed is to be read.
func TestDraftOfKnownLogs(t *testing.T) {
	for script, pattern := range map[string]string{
		"import tqdm\nfor b in tqdm.tqdm(loader): pass\n":                     "pattern: tqdm",
		"from tqdm.auto import tqdm\nimport pytorch_lightning as pl\n":        "pattern: lightning",
		"  import lightning as L\n":                                           "pattern: lightning",
		"from transformers import Trainer\nimport tqdm\nt = Trainer(model)\n": "pattern: huggingface",
		"import deepspeed\n":                                                  "pattern: deepspeed",
		"# no tqdm here, and nothing of transformers\nprint('lightning')\n":   "jsonl: true",
		"import tqdm\nprint('knee: {\"step\":1}')\n":                          "jsonl: true",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		d := draft.New([]string{"python3", "train.py", "--batch", "8"}, draft.Machine{GPUType: "cpu", Cores: 1}, dir)
		read(t, d.Text)
		if !strings.Contains(d.Text, "\nmetrics: {"+pattern+"}") {
			t.Errorf("%q: want %s in\n%s", script, pattern, d.Text)
		}
	}
}

// Steps of accumulation, as scripts count them, come back as they were typed.
func TestAccumulationComesBack(t *testing.T) {
	command := []string{"accelerate", "launch", "--num_processes", "4", "train.py", "--batch", "8", "--gradient_accumulation_steps", "4"}
	s := read(t, draft.New(command, draft.Machine{GPUType: "a100", GPUs: 8}, ".").Text)
	got, err := space.Command(s, data.Config{Job: s.Job, GPUType: "a100", Workers: 4, LocalBatch: 8, AccumSteps: 3})
	if err != nil || !slices.Equal(got, command) {
		t.Errorf("%q, %v", got, err)
	}
}

// A script that trains alone, started once per worker, is no distributed job.
func TestDraftOfALonelyScript(t *testing.T) {
	dir := t.TempDir()
	for script, alone := range map[string]bool{
		"import knee_report\nimport torch\n":                                              true,
		"import knee_report\ntorch.distributed.init_process_group('gloo')\n":              false,
		"import knee_report\nrank = int(os.environ['RANK'])\n":                            false,
		"import knee_report\nfrom accelerate import Accelerator\n":                        false,
		"import knee_report\nimport os\nprint(os.environ['KNEE_WORKERS'], 'array, Xray')": false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		d := draft.New([]string{"python3", "train.py", "--batch", "8"}, draft.Machine{GPUType: "cpu", Cores: 2}, dir)
		if got := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "seems to join its processes") }); got != alone {
			t.Errorf("%q: notes %q", script, d.Notes)
		}
		d = draft.New([]string{"torchrun", "--nproc-per-node=2", "train.py", "--batch", "8"}, draft.Machine{GPUType: "cpu", Cores: 2}, dir)
		if len(d.Notes) != 0 {
			t.Errorf("with torchrun: notes %q, want none: it is the launcher's matter", d.Notes)
		}
	}
}
