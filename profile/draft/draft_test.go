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
	word := rapid.OneOf(rapid.StringMatching(`[a-z]{1,6}(\.py|\.sh)?`), rapid.StringMatching(`--x[a-z]{1,7}=[ -~]{0,8}`), // no flag of a batch or a layout begins so
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
		d := draft.New(command, data.Node{GPUType: "a100", GPUs: 8}, ".")
		s := read(t, d.Text)
		got, err := data.RenderCommand(s.Command, data.Config{Job: s.Job, GPUType: "a100", Workers: 8, LocalBatch: float64(batch)}, s.Source)
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
		machine data.Node
		want    []string // of the text
		notes   int
	}{
		{"torchrun on GPUs", []string{"torchrun", "--nproc-per-node=4", "train.py", "--batch", "64"}, data.Node{GPUType: "a100", GPUs: 6},
			[]string{"job: train", "ranks: false", "'--nproc-per-node={{.WorkersPerNode}}'", "'{{.LocalBatch}}'", "workers: [1, 2, 4, 6]", "min: 16, max: 128", "# --batch was 64"}, 0},
		{"a script on processors", []string{"python3", "train.py", "--batch_size=8"}, data.Node{GPUType: "cpu", GPUs: 2},
			[]string{"ranks: true", "gpu_type: [cpu]", "workers: [1, 2]", "min: 2, max: 16"}, 0},
		{"no batch, no script, no lines", []string{"python3", "other.py"}, data.Node{GPUType: "cpu", GPUs: 1},
			[]string{"job: other", "workers: [1]", "# local_batch"}, 3},
		{"two batches", []string{"python3", "train.py", "--batch=8", "--per-device-train-batch-size", "2"}, data.Node{GPUType: "cpu", GPUs: 1},
			[]string{"'--batch={{.LocalBatch}}', --per-device-train-batch-size, '2'"}, 0},
		{"a batch that is no number", []string{"python3", "train.py", "--batch=auto"}, data.Node{GPUType: "cpu", GPUs: 1},
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

// The configuration is found in the flags of each launcher and script.
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
		{"srun -N 2 --ntasks-per-node=4 python train.py --batch 8 -N 3", []string{"srun, -N, '{{.Nodes}}', '--ntasks-per-node={{.WorkersPerNode}}', python", "-N, '3'"}, nil},
		{"srun --ntasks 8 python train.py --train_micro_batch_size_per_gpu 8", []string{"--ntasks, '{{.Workers}}'", "min: 2, max: 16"}, nil},
		{"python train.py --devices 4 --num_nodes 2 --per_gpu_batch_size 8", []string{"--devices, '{{.WorkersPerNode}}', --num_nodes, '{{.Nodes}}'"}, nil},
		{"OMP_NUM_THREADS=1 torchrun --nproc_per_node=4 train.py --batch 8", []string{"[env, OMP_NUM_THREADS=1, torchrun,"}, nil},
		{"sbatch --nodes 2 --ntasks-per-node 4 train.sh --batch 8", []string{"ranks: false"}, []string{"train.sh is not here", "", "sbatch returns before its job runs"}},
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
		d := draft.New(strings.Fields(tc.command), data.Node{GPUType: "a100", GPUs: 8}, dir)
		read(t, d.Text)
		for _, w := range tc.want {
			if !strings.Contains(d.Text, w) {
				t.Errorf("%s: the draft lacks %q:\n%s", tc.command, w, d.Text)
			}
		}
		if !slices.EqualFunc(d.Notes, tc.notes, strings.Contains) {
			t.Errorf("%s: notes %q, want %q", tc.command, d.Notes, tc.notes)
		}
	}
}

// A script's imports determine the log pattern.
func TestDraftOfKnownLogs(t *testing.T) {
	for script, pattern := range map[string]string{
		"import tqdm\nfor b in tqdm.tqdm(loader): pass\n":                     "pattern: tqdm",
		"from tqdm.auto import tqdm\nimport pytorch_lightning as pl\n":        "pattern: lightning",
		"  import lightning as L\n":                                           "pattern: lightning",
		"from mmengine.runner import Runner\n":                                "pattern: mmengine",
		"from transformers import Trainer\nimport tqdm\nt = Trainer(model)\n": "pattern: huggingface",
		"import deepspeed\n":                                                  "pattern: deepspeed",
		"# no tqdm here, and nothing of transformers\nprint('lightning')\n":   "jsonl: true",
		"import tqdm\nprint('knee: {\"step\":1}')\n":                          "jsonl: true",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		d := draft.New([]string{"python3", "train.py", "--batch", "8"}, data.Node{GPUType: "cpu", GPUs: 1}, dir)
		read(t, d.Text)
		if !strings.Contains(d.Text, "\nmetrics: {"+pattern+"}") {
			t.Errorf("%q: want %s in\n%s", script, pattern, d.Text)
		}
	}
}

// Steps of accumulation, as scripts count them, come back as they were typed.
func TestAccumulationComesBack(t *testing.T) {
	command := []string{"accelerate", "launch", "--num_processes", "4", "train.py", "--batch", "8", "--gradient_accumulation_steps", "4"}
	s := read(t, draft.New(command, data.Node{GPUType: "a100", GPUs: 8}, ".").Text)
	got, err := data.RenderCommand(s.Command, data.Config{Job: s.Job, GPUType: "a100", Workers: 4, LocalBatch: 8, AccumSteps: 3}, s.Source)
	if err != nil || !slices.Equal(got, command) {
		t.Errorf("%q, %v", got, err)
	}
}

// A single-process script, started once per worker, gets a note.
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
		d := draft.New([]string{"python3", "train.py", "--batch", "8"}, data.Node{GPUType: "cpu", GPUs: 2}, dir)
		if got := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "seems to join its processes") }); got != alone {
			t.Errorf("%q: notes %q", script, d.Notes)
		}
		d = draft.New([]string{"torchrun", "--nproc-per-node=2", "train.py", "--batch", "8"}, data.Node{GPUType: "cpu", GPUs: 2}, dir)
		if len(d.Notes) != 0 {
			t.Errorf("with torchrun: notes %q, want none: it is the launcher's matter", d.Notes)
		}
	}
}

// A script that takes the number of devices starts its workers itself: it is
// started once, with the number in that flag. A script that reads its rank from
// the environment keeps the flag.
func TestDraftOfAScriptThatStartsItsWorkers(t *testing.T) {
	dir := t.TempDir()
	for script, spawns := range map[string]bool{"import jax\n": true, "dist.init_process_group('nccl', init_method='env://')\n": false, "r = int(os.environ['RANK'])\n": false} {
		if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		for batch, question := range map[string]bool{"--per_device_batch": false, "--batch-size": spawns} {
			d := draft.New([]string{"python3", "train.py", batch, "32", "--num_devices", "2"}, data.Node{GPUType: "cpu", GPUs: 4}, dir)
			s := read(t, d.Text)
			want := "2"
			if spawns {
				want = "{{.WorkersPerNode}}"
			}
			if s.Command[5] != want || s.Command[3] != "{{.LocalBatch}}" || s.Launcher.Local.Ranks == spawns {
				t.Errorf("%q: %q, ranks %v", script, s.Command, s.Launcher.Local.Ranks)
			}
			if asked := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "put {{.GlobalBatch}} there") }); asked != question {
				t.Errorf("%q %s: notes %q", script, batch, d.Notes)
			}
		}
	}
}

// Flags that spread a model over GPUs become knobs of the space, those that
// say how large it is the section model, in the spelling of each program; and
// the command as it was typed comes back.
func TestDraftOfLayouts(t *testing.T) {
	for _, tc := range []struct {
		command string
		files   map[string]string
		want    []string
		config  data.Config // as typed
		notes   int
	}{
		{command: "torchrun --nproc-per-node=8 pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --context-parallel-size 1 " +
			"--micro-batch-size 2 --global-batch-size 256 --recompute-granularity full --recompute-method uniform --recompute-num-layers=1 --use-distributed-optimizer --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --lr 1e-4",
			files: map[string]string{"pretrain_gpt.py": "from megatron.training import pretrain\n"},
			want: []string{"metrics: {pattern: megatron}", "model: {layers: 32, hidden: 4096, heads: 32, seq_len: 2048}", "workers: [1, 2, 4, 8]", "tp: [1, 2, 4, 8]", "pp: [1, 2, 4, 8]", "cp: [1]",
				"sharding: [none, zero1]", "recompute: [none, selective, full]", "min: 1, max: 4", "global_batch: [256]", "--num-layers, '32'"},
			config: data.Config{Workers: 8, LocalBatch: 2, AccumSteps: 127, Layout: data.Layout{TP: 4, PP: 2, Sharding: "zero1", Recompute: "full"}}, notes: 1},
		{command: "torchrun --nproc_per_node=8 pretrain_gpt.py --pipeline-model-parallel-size=2 --num-layers 20 --num-layers-per-virtual-pipeline-stage 5 --micro-batch-size 2",
			want: []string{"pp: [1, 2, 4]"}, config: data.Config{Workers: 8, LocalBatch: 2, Layout: data.Layout{PP: 2}}, notes: 3},
		{command: "torchrun --nproc-per-node=8 pretrain_gpt.py --tensor-model-parallel-size=2 --micro-batch-size 2 --recompute-granularity=selective",
			want: []string{"recompute: [none, selective]", "tp: [1, 2, 4, 8]"}, config: data.Config{Workers: 8, LocalBatch: 2, Layout: data.Layout{TP: 2, Recompute: "selective"}}, notes: 2},
		{command: "deepspeed --num_gpus=4 train.py --deepspeed_config ds.json",
			files:  map[string]string{"train.py": "import deepspeed\n", "ds.json": `{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}`},
			want:   []string{"metrics: {pattern: deepspeed}", "'--num_gpus={{.WorkersPerNode}}'", "sharding: [zero3]", "offload: [optimizer]", "local_batch: [4]", "accum_steps: [7]"},
			config: data.Config{Workers: 4, LocalBatch: 4, AccumSteps: 7, Layout: data.Layout{Sharding: "zero3", Offload: "optimizer"}}, notes: 2},
		{command: "deepspeed --num_gpus=4 train.py --deepspeed_config ds.json",
			files:  map[string]string{"train.py": "import deepspeed\n", "ds.json": `{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4}`},
			want:   []string{"local_batch: [4]", "global_batch: [256]"},
			config: data.Config{Workers: 4, LocalBatch: 4, AccumSteps: 15}, notes: 2},
		{command: "torchrun --nproc-per-node=8 pretrain_gpt.py --tensor-model-parallel-size=2 --micro-batch-size 2 --recompute-activations",
			want: []string{"workers: [1, 2, 4, 8]", "recompute: [none, selective]"}, config: data.Config{Workers: 8, LocalBatch: 2, Layout: data.Layout{TP: 2, Recompute: "selective"}}, notes: 2},
		{command: "deepspeed train.py --deepspeed ds.json --per_device_train_batch_size 4",
			files:  map[string]string{"train.py": "from transformers import Trainer\nTrainer()\n", "ds.json": `{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}`},
			want:   []string{"metrics: {pattern: huggingface}", "sharding: [zero2]", "min: 1, max: 8"},
			config: data.Config{Workers: 8, LocalBatch: 4, Layout: data.Layout{Sharding: "zero2"}}, notes: 3},
		{command: "accelerate launch --num_processes 8 --use_fsdp --fsdp_sharding_strategy FULL_SHARD --fsdp_activation_checkpointing true train.py --per_device_train_batch_size 2 --gradient_accumulation_steps 4",
			files:  map[string]string{"train.py": "from accelerate import Accelerator\nfrom tqdm import tqdm\n"},
			want:   []string{"'{{.ShardingStrategy}}'", "sharding: [none, zero2, zero3, hybrid]", "recompute: [none, full]", "accum_steps: [3]"},
			config: data.Config{Workers: 8, LocalBatch: 2, AccumSteps: 3, Layout: data.Layout{Sharding: "zero3", Recompute: "full"}}, notes: 1},
		{command: "accelerate launch --config_file fsdp.yaml --num_processes 8 train.py --per_device_train_batch_size 2",
			files: map[string]string{"train.py": "from accelerate import Accelerator\nfrom tqdm import tqdm\n",
				"fsdp.yaml": "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD, fsdp_activation_checkpointing: true}\nnum_processes: 8\n"},
			want:   []string{"sharding: [hybrid]", "recompute: [full]", "min: 1, max: 4"},
			config: data.Config{Workers: 8, LocalBatch: 2, Layout: data.Layout{Sharding: "hybrid", Recompute: "full"}}, notes: 2},
		{command: "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file llama3_8b.toml --parallelism.tensor_parallel_degree=2 --parallelism.pipeline_parallel_degree=2 --training.local_batch_size=4 --training.seq_len=8192 --activation_checkpoint.mode=selective",
			want: []string{"metrics: {pattern: torchtitan}", "model: {seq_len: 8192}", "tp: [1, 2, 4, 8]", "pp: [1, 2, 4, 8]", "sharding: [zero3]", "recompute: [none, selective, full]",
				"'--parallelism.tensor_parallel_degree={{.TP}}'", "'--activation_checkpoint.mode={{.Recompute}}'"},
			config: data.Config{Workers: 8, LocalBatch: 4, Layout: data.Layout{TP: 2, PP: 2, Sharding: "zero3", Recompute: "selective"}}, notes: 1},
		{command: "python megatron_gpt_pretraining.py trainer.devices=8 trainer.num_nodes=1 model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=1 model.micro_batch_size=1 model.global_batch_size=64 ++model.activations_checkpoint_granularity=full",
			want: []string{"metrics: {pattern: nemo}", "ranks: false", "'trainer.devices={{.WorkersPerNode}}'", "'trainer.num_nodes={{.Nodes}}'", "'model.tensor_model_parallel_size={{.TP}}'",
				"recompute: [none, selective, full]", "global_batch: [64]", "min: 1, max: 2"},
			config: data.Config{Workers: 8, LocalBatch: 1, AccumSteps: 31, Layout: data.Layout{TP: 4, Recompute: "full"}}, notes: 2},
	} {
		dir := t.TempDir()
		for name, text := range tc.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		command := strings.Fields(tc.command)
		login := draft.New(command, data.Node{GPUType: "cpu", GPUs: 2}, dir).Text // without GPUs the command's workers count
		if strings.Contains(tc.command, "per-node=8") && !strings.Contains(login, "tp: [1, 2, 4, 8]") {
			t.Errorf("%s on a node without GPUs:\n%s", tc.command, login)
		}
		d := draft.New(command, data.Node{GPUType: "a100", GPUs: 8}, dir)
		s := read(t, d.Text)
		for _, w := range tc.want {
			if !strings.Contains(d.Text, w) {
				t.Errorf("%s: the draft lacks %q:\n%s", tc.command, w, d.Text)
			}
		}
		if len(d.Notes) != tc.notes {
			t.Errorf("%s: %d notes, want %d: %q", tc.command, len(d.Notes), tc.notes, d.Notes)
		}
		tc.config.Job, tc.config.GPUType = s.Job, "a100"
		if got, err := data.RenderCommand(s.Command, tc.config, s.Source); err != nil || !slices.Equal(got, command) {
			t.Errorf("the command comes back as %q, %v; want %q", got, err, command)
		}
		all, err := space.Candidates(s)
		if err != nil || !slices.ContainsFunc(all, func(c data.Config) bool { return c.Key() == withMode(tc.config).Key() }) {
			t.Errorf("%s: %s is not among the %d candidates of\n%s (%v)", tc.command, tc.config, len(all), d.Text, err)
		}
	}
}

func withMode(c data.Config) data.Config {
	c.Mode = data.AllReduce
	return c
}

// A missing or invalid DeepSpeed configuration file gives a note.
func TestDraftOfABadDeepSpeedFile(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"ds.json cannot be read (open ", `ds.json cannot be read (ds.json:2:6: found "\"b\": 2}", want a comma`} {
		d := draft.New([]string{"deepspeed", "train.py", "--deepspeed", "ds.json", "--batch", "8"}, data.Node{GPUType: "a100", GPUs: 8}, dir)
		read(t, d.Text)
		if !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("notes %q, want …%s…", d.Notes, want)
		}
		if err := os.WriteFile(filepath.Join(dir, "ds.json"), []byte("{\"a\": [1\n  \"b\": 2}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Flags that Megatron-LM accepts only with full recomputation are conditional.
func TestDraftLeavesFlagsOut(t *testing.T) {
	command := strings.Fields("torchrun --nproc-per-node=8 pretrain_gpt.py --micro-batch-size 2 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --use-distributed-optimizer --bf16")
	s := read(t, draft.New(command, data.Node{GPUType: "a100", GPUs: 8}, t.TempDir()).Text)
	for want, layout := range map[string]data.Layout{
		"--bf16": {},
		"--recompute-granularity selective --use-distributed-optimizer --bf16":                                                {Recompute: "selective", Sharding: "zero1"},
		"--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --use-distributed-optimizer --bf16": {Recompute: "full", Sharding: "zero1"},
	} {
		got, err := data.RenderCommand(s.Command, data.Config{Workers: 8, LocalBatch: 2, Layout: layout}, s.Source)
		if err != nil || strings.Join(got, " ") != "torchrun --nproc-per-node=8 pretrain_gpt.py --micro-batch-size 2 "+want {
			t.Errorf("%+v: %q, %v", layout, got, err)
		}
	}
}
