package draft

import (
	"slices"
	"strconv"
	"strings"
)

// flag is a flag of training scripts that names a part of the configuration.
type flag struct {
	names    []string // without leading dashes, - in place of _; with the section before a dot only where needed
	knob     string   // of the space, or key of the section model
	field    string   // template that replaces the value; empty to leave it
	global   bool     // the batch of all workers together
	launcher bool     // counts only before the script: a script's -n may mean something else
	spawns   bool     // counts only for a script that starts its workers itself

	words map[string]string // for a knob of words: from the program's word in lower case to the study's
	bare  string            // the study's word for the flag without a value
	when  string            // template condition under which the flag is present; absent, the knob is none
}

// flags lists the spellings of launchers and of common training scripts.
func flags() []flag {
	return append([]flag{
		{names: []string{"trainer.devices"}, knob: "workers", field: "{{.WorkersPerNode}}"},
		{names: []string{"trainer.num-nodes"}, field: "{{.Nodes}}"},
		{names: []string{"nproc-per-node", "num-gpus"}, knob: "workers", field: "{{.WorkersPerNode}}", launcher: true},
		{names: []string{"num-devices", "n-devices", "devices", "num-gpus", "n-gpus", "ngpus", "gpus"}, knob: "workers", field: "{{.Workers}}", spawns: true},
		{names: []string{"num-processes", "np", "n"}, knob: "workers", field: "{{.Workers}}", launcher: true},
		{names: []string{"nnodes", "num-nodes", "num-machines"}, field: "{{.Nodes}}", launcher: true},
		{names: []string{"micro-batch-size", "per-device-train-batch-size", "batch-size-per-gpu", "batch-size-per-device", "per-device-batch-size", "per-device-batch", "per-gpu-batch-size", "local-batch", "local-batch-size"}, knob: "local_batch", field: "{{.LocalBatch}}"},
		{names: []string{"global-batch-size", "global-batch"}, knob: "local_batch", field: "{{.GlobalBatch}}", global: true},
		{names: []string{"batch-size", "batch", "train-batch-size", "bs", "b"}, knob: "local_batch", field: "{{.LocalBatch}}"},
		{names: []string{"gradient-accumulation-steps", "accum-steps", "accumulation-steps", "grad-accum-steps", "grad-accum"}, knob: "accum_steps", field: "{{.MicroSteps}}"},
	}, layoutFlags()...)
}

// part is one value of the configuration in a command.
type part struct {
	knob   string
	field  string   // template that replaces it; may be empty
	value  float64  // as in the command
	word   string   // in place of value, for a knob of words
	words  []string // that the template can produce; word alone without a template
	global bool
	spawns bool
	fixed  bool   // from a file or a default, which a template cannot change
	arg    string // the flag as written, or the file
}

// templated returns the command with the parts of the configuration replaced by
// templates, and their values. spawns says that the script may start its
// workers itself.
func templated(command []string, spawns bool) (out []string, parts []part) {
	out = append(out, command...)
	inScript := !startsRanks(command)
	for i := 0; i < len(out); i++ {
		inScript = inScript || isScript(out[i])
		name, value, joined := strings.Cut(out[i], "=")
		f, ok := flagNamed(name, joined, spawns)
		if !ok || f.launcher && inScript {
			continue
		}
		at, own := i, joined // own: the value is this flag's
		if !joined && i+1 < len(out) {
			value, own = out[i+1], !strings.HasPrefix(out[i+1], "-")
			at++
		}
		p := part{knob: f.knob, field: f.field, global: f.global, spawns: f.spawns, arg: name}
		switch {
		case f.bare != "" && !own:
			p.word, p.words, at = f.bare, []string{f.bare}, i
		case !own || !f.read(value, &p):
			continue // such as "auto"
		case f.field != "" && slices.ContainsFunc(parts, func(q part) bool { return q.field == f.field && q.value != p.value }):
			continue // contradicts the flag before, so that it means something else
		case f.field != "" && joined:
			out[at] = name + "=" + f.field
		case f.field != "":
			out[at] = f.field
		}
		if f.when != "" && strings.HasPrefix(name, "--") {
			p.words = append(p.words, "none")
			for k := i; k <= at; k++ {
				out[k] = "{{if " + f.when + "}}" + out[k] + "{{end}}"
			}
		}
		parts = append(parts, p)
	}
	return out, parts
}

// read reads a flag's value into p; false unless a known word or positive.
func (f flag) read(value string, p *part) bool {
	if f.words != nil {
		p.word = f.words[strings.ToLower(value)]
		if p.words = []string{p.word}; f.field != "" {
			p.words = nil
			for _, w := range f.words {
				p.words = append(p.words, w)
			}
		}
		return p.word != ""
	}
	v, err := strconv.ParseFloat(value, 64)
	p.value = v
	return err == nil && v > 0
}

// flagNamed finds the flag of an argument such as --batch_size, or of
// data.batch_size=32 as in Hydra (joined). spawns is as in [templated].
func flagNamed(arg string, joined, spawns bool) (flag, bool) {
	if !strings.HasPrefix(arg, "-") && !joined {
		return flag{}, false
	}
	name := strings.ReplaceAll(strings.TrimLeft(arg, "-+"), "_", "-")
	last := name[strings.LastIndex(name, ".")+1:]
	for _, f := range flags() {
		if f.spawns && !spawns {
			continue
		}
		if slices.Contains(f.names, name) || slices.Contains(f.names, last) {
			return f, true
		}
	}
	return flag{}, false
}

// startsRanks reports whether a command starts its ranks itself, as torchrun
// does. knee starts a plain script once per worker.
func startsRanks(command []string) bool {
	return slices.ContainsFunc(command, func(a string) bool {
		switch a[strings.LastIndex(a, "/")+1:] {
		case "torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "srun", "torch.distributed.run", "torch.distributed.launch", "run_train.sh", "nemo":
			return true
		}
		return strings.HasPrefix(a, "trainer.devices=") // Lightning starts the others
	})
}

// script returns the first argument that names a Python or shell file.
func script(command []string) string {
	if i := slices.IndexFunc(command, isScript); i >= 0 {
		return command[i]
	}
	return ""
}

func isScript(arg string) bool { return strings.HasSuffix(arg, ".py") || strings.HasSuffix(arg, ".sh") }
