package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// flag is a flag of training scripts that names a part of the configuration.
type flag struct {
	names    []string // without dashes, - for _ as well
	knob     string   // of the space
	field    string   // of the template
	global   bool     // the batch of all workers together
	launcher bool     // means this only before the script: -n may be anything to a script
}

// flags lists the spellings in use: those of torchrun, accelerate, DeepSpeed
// and mpirun, and of the training scripts of torchvision, timm, Hugging Face,
// Megatron-LM and DeepSpeed.
func flags() []flag {
	return []flag{
		{names: []string{"nproc-per-node", "num-gpus"}, knob: "workers", field: "{{.WorkersPerNode}}", launcher: true},
		{names: []string{"num-processes", "np", "n"}, knob: "workers", field: "{{.Workers}}", launcher: true},
		{names: []string{"nnodes", "num-nodes", "num-machines"}, field: "{{.Nodes}}", launcher: true},
		{names: []string{"micro-batch-size", "per-device-train-batch-size", "batch-size-per-gpu", "local-batch", "local-batch-size"}, knob: "local_batch", field: "{{.LocalBatch}}"},
		{names: []string{"global-batch-size", "global-batch"}, knob: "local_batch", field: "{{.GlobalBatch}}", global: true},
		{names: []string{"batch-size", "batch", "train-batch-size", "bs", "b"}, knob: "local_batch", field: "{{.LocalBatch}}"},
		{names: []string{"gradient-accumulation-steps", "accum-steps", "accumulation-steps", "grad-accum-steps", "grad-accum"}, knob: "accum_steps", field: "{{.MicroSteps}}"},
	}
}

// part is what a command says of its configuration.
type part struct {
	knob   string
	value  float64 // as the command had it
	global bool
	arg    string // the flag as written
}

// templated returns the command with the parts of the configuration replaced
// by templates, and what they were.
func templated(command []string) (out []string, parts []part) {
	out = append(out, command...)
	inScript := starter(command) == oneByOne
	for i := 0; i < len(out); i++ {
		inScript = inScript || isScript(out[i])
		name, value, joined := strings.Cut(out[i], "=")
		f, ok := flagNamed(name, joined)
		if !ok || f.launcher && inScript {
			continue
		}
		at := i
		if !joined {
			if i+1 >= len(out) {
				continue
			}
			at, value = i+1, out[i+1]
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v > 0) {
			continue // "auto", say: not for us to replace
		}
		if joined {
			out[at] = name + "=" + f.field
		} else {
			out[at] = f.field
		}
		parts = append(parts, part{f.knob, v, f.global, name})
	}
	return out, parts
}

// flagNamed finds the flag of an argument such as --batch_size, or, with its
// value joined to it, data.batch_size as Hydra has it.
func flagNamed(arg string, joined bool) (flag, bool) {
	if !strings.HasPrefix(arg, "-") && !joined {
		return flag{}, false
	}
	name := strings.ReplaceAll(strings.TrimLeft(arg, "-"), "_", "-")
	if !strings.HasPrefix(arg, "-") {
		name = name[strings.LastIndex(name, ".")+1:]
	}
	for _, f := range flags() {
		if slices.Contains(f.names, name) {
			return f, true
		}
	}
	return flag{}, false
}

// launched tells how a command starts its processes.
type launched int

const (
	byItself launched = iota // a launcher such as torchrun starts the ranks
	oneByOne                 // a plain script: knee starts it once per worker
)

// starter says who starts the ranks of a command.
func starter(command []string) launched {
	for _, a := range command {
		base := a[strings.LastIndex(a, "/")+1:]
		switch base {
		case "torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "srun", "torch.distributed.run", "torch.distributed.launch":
			return byItself
		}
	}
	return oneByOne
}

// script returns the script that a command runs: its first argument that
// names a Python or shell file.
func script(command []string) string {
	for _, a := range command {
		if isScript(a) {
			return a
		}
	}
	return ""
}

func isScript(arg string) bool { return strings.HasSuffix(arg, ".py") || strings.HasSuffix(arg, ".sh") }

// reports matches what a script that prints knee's lines has in it.
var reports = regexp.MustCompile(`knee_report|knee: *\{`)

// formats lists what a script has in it that prints its speed as a pattern
// reads it, the most particular first: a script that uses Lightning or the
// Trainer may import tqdm too.
func formats() []struct {
	pattern string
	mark    *regexp.Regexp
} {
	return []struct {
		pattern string
		mark    *regexp.Regexp
	}{
		{"lightning", regexp.MustCompile(`(?m)^\s*(?:from|import) (?:pytorch_)?lightning\b`)},
		{"huggingface", regexp.MustCompile(`(?s)\btransformers\b.*Trainer\(`)},
		{"deepspeed", regexp.MustCompile(`(?m)^\s*(?:from|import) deepspeed\b`)},
		{"tqdm", regexp.MustCompile(`(?m)^\s*(?:from|import) tqdm\b`)},
	}
}

// formatOf returns the pattern that reads what a script prints, empty if
// nothing in it tells.
func formatOf(script []byte) string {
	for _, f := range formats() {
		if f.mark.Match(script) {
			return f.pattern
		}
	}
	return ""
}
