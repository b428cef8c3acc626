package draft

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"knee/data"
)

// Machine describes the machine to draft for.
type Machine struct {
	GPUType string // "cpu" where there is none
	GPUs    int    // 0 where there is none
	Cores   int
}

// Study is a first study.
type Study struct {
	Text  string   // study.yaml
	Notes []string // what is left to do before it can be run; empty if nothing
}

// New drafts the study of a training command on a machine. dir is the working
// directory of the command, to read its script.
func New(command []string, m Machine, dir string) Study {
	d := &drafting{command: command, machine: m, startsRanks: startsRanks(command)}
	spawns := false
	if name := script(command); name != "" {
		d.script = name
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		content, err := os.ReadFile(name)
		d.scriptFound = err == nil
		d.reports = reports.Match(content)
		d.format = formatOf(content, command)
		spawns = !d.startsRanks && !toldByEnvironment.Match(content)
		d.alone = err == nil && !d.startsRanks && strings.HasSuffix(name, ".py") && !joins.Match(content)
	} else {
		d.format = formatOf(nil, command)
	}
	d.rendered, d.parts = templated(command, spawns)
	if slices.ContainsFunc(d.parts, func(p part) bool { return p.spawns }) {
		d.startsRanks, d.alone = true, false
	}
	d.readFiles(dir)
	d.readTorchtitan()
	d.readMegatron()
	text := d.write()
	return Study{Text: text, Notes: d.notes}
}

type drafting struct {
	command, rendered []string
	parts             []part
	machine           Machine
	startsRanks       bool
	script            string
	scriptFound       bool
	reports           bool
	alone             bool   // nothing in the script joins it to other processes
	format            string // the pattern that reads what the script prints; empty if not known
	notes             []string
}

func (d *drafting) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *drafting) write() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What to measure: knee profile study.yaml\njob: %s\n\n", d.job())
	d.writeCommand(&b)
	d.writeMetrics(&b)
	d.writeModel(&b)
	d.writeSpace(&b)
	fmt.Fprintf(&b, `
# What the search looks for. accuracy covers the space so that the fit is good
# everywhere; {maximize: throughput} or {maximize: goodput} looks for the best.
objective: accuracy
price_per_hour: {%s: %s}   # US$ per worker: put in yours
trial: {warmup: auto, min_steps: 20, max_seconds: 60, rel_precision: 0.02, timeout: 5m, retries: 1}
budget: {trials: 10}
seed: 1
`, d.machine.GPUType, d.price())
	return b.String()
}

func (d *drafting) job() string {
	name := "my-job"
	if d.script != "" {
		name = strings.TrimSuffix(filepath.Base(d.script), filepath.Ext(d.script))
	}
	return quoted(name)
}

// price is an example in US$ per worker and hour, for the user to replace.
func (d *drafting) price() string {
	if d.machine.GPUs > 0 {
		return "2.0"
	}
	return "0.05"
}

func (d *drafting) writeCommand(b *strings.Builder) {
	if d.startsRanks {
		b.WriteString("# Started once per trial; it starts its ranks itself.\n")
	} else {
		b.WriteString(`# Started once per worker, each told who it is by RANK, WORLD_SIZE, LOCAL_RANK,
# MASTER_ADDR and MASTER_PORT, as torchrun does.
`)
	}
	for _, p := range d.parts {
		switch {
		case p.fixed || slices.Contains(architecture(), p.knob):
		case p.word != "":
			fmt.Fprintf(b, "# %s was %s.\n", p.arg, p.word)
		default:
			fmt.Fprintf(b, "# %s was %s.\n", p.arg, plain(p.value))
		}
	}
	quotedArgs := make([]string, len(d.rendered))
	for i, a := range d.rendered {
		quotedArgs[i] = quoted(a)
	}
	fmt.Fprintf(b, "command: [%s]\nlauncher:\n  local: {ranks: %t}\n", strings.Join(quotedArgs, ", "), !d.startsRanks)
	if d.script != "" && !d.scriptFound {
		d.note("%s is not here: run knee profile where it is, or set dir: in the study", d.script)
	}
}

func (d *drafting) writeMetrics(b *strings.Builder) {
	if d.reports {
		b.WriteString("\n# The script prints a line per step that starts with \"knee: \".\nmetrics: {jsonl: true}\n")
		return
	}
	if d.format != "" {
		fmt.Fprintf(b, `
# How the output is read: as %[1]s writes it, which the script seems to use.
# More exact is a line per step such as
#   knee: {"step":12,"step_time_s":0.041,"loss":2.1}
# with metrics: {jsonl: true}.
metrics: {pattern: %[1]s}
`, d.format)
		d.note("the script seems to print its speed by %[1]s, so metrics is {pattern: %[1]s}: check that it does", d.format)
		return
	}
	fmt.Fprintf(b, `
# How the output is read. The script should print a line per step such as
#   knee: {"step":12,"step_time_s":0.041,"loss":2.1}
# Where it prints something else, name what to look for instead:
#   metrics: {regex: 'images/sec: (?P<throughput>[0-9.]+)'}
# or the program whose log it is, {pattern: NAME}:
#   %s
metrics: {jsonl: true}
`, strings.Join(data.MetricPatterns(), ", "))
	d.note("let the script print a line per step: knee: {\"step\":12,\"step_time_s\":0.041}; or set metrics: {regex: …} or {pattern: …} for what it already prints")
}

// writeSpace writes the space: workers up to the machine's GPUs or cores,
// batches around the command's.
func (d *drafting) writeSpace(b *strings.Builder) {
	slots, what := d.machine.GPUs, "GPUs"
	if slots == 0 {
		slots, what = d.machine.Cores, "cores"
	}
	fmt.Fprintf(b, "\n# The configurations to choose from: this machine has %d %s.\nspace:\n  gpu_type: [%s]\n  workers: [%s]\n",
		slots, what, quoted(d.machine.GPUType), joined(doublings(max(slots, d.modelParallel()))))
	if d.alone {
		d.note("nothing in %s seems to join its processes: if each trains by itself, set workers: [1]", d.script)
	}
	if d.startsRanks && !slices.ContainsFunc(d.parts, func(p part) bool { return p.knob == "workers" }) {
		d.note("no flag for the number of processes was found in the command: put {{.Workers}} where it goes, or every trial runs the same number")
	}
	d.writeLayout(b, slots)
	d.writeBatch(b)
}

// writeBatch writes a range around the command's batch. If the command also
// sets a global batch, that is kept and accumulation follows.
func (d *drafting) writeBatch(b *strings.Builder) {
	batch := d.batch()
	whole := slices.IndexFunc(d.parts, func(p part) bool { return p.global })
	_, micro := d.named("local_batch")
	local, _ := d.named("local_batch")
	switch {
	case batch == 0:
		d.note("no flag for the batch was found in the command: put {{.LocalBatch}} where it goes, and local_batch into the space")
		b.WriteString("  # local_batch: {min: 16, max: 128, scale: log2}   # and {{.LocalBatch}} in the command\n")
	case local.fixed:
		fmt.Fprintf(b, "  local_batch: [%s]   # of a replica\n", plain(batch))
	default:
		if p, _ := d.named("workers"); p.spawns && !strings.Contains(local.arg, "per") {
			d.note("{{.LocalBatch}} is the batch of one worker: if %s is that of all, put {{.GlobalBatch}} there", local.arg)
		}
		lo, hi := math.Max(1, math.Round(batch/4)), batch*2
		fmt.Fprintf(b, "  local_batch: {min: %s, max: %s, scale: log2}   # of a replica; too large ones are detected and avoided\n", plain(lo), plain(math.Max(lo, hi)))
	}
	if whole >= 0 && micro {
		fmt.Fprintf(b, "  global_batch: [%s]   # of all together: accumulation follows\n", plain(d.parts[whole].value))
	} else if p, ok := d.named("accum_steps"); ok && p.value == math.Trunc(p.value) {
		fmt.Fprintf(b, "  accum_steps: [%s]   # micro-steps beyond the first\n", plain(p.value-1))
	}
}

// batch returns the samples per replica and micro-step in the command, 0 if it
// has none. A local batch precedes a global one.
func (d *drafting) batch() float64 {
	workers, whole := 1.0, 0.0
	for _, p := range d.parts {
		switch {
		case p.knob == "workers":
			workers = p.value
		case p.knob == "local_batch" && p.global:
			whole = p.value
		case p.knob == "local_batch":
			return p.value
		}
	}
	return whole / math.Max(1, workers/float64(d.modelParallel()))
}

func doublings(n int) []int {
	var out []int
	for k := 1; k < n; k *= 2 {
		out = append(out, k)
	}
	return append(out, max(n, 1))
}

func joined(ns []int) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

func plain(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.6f", v), "0"), ".")
}

// quoted writes a YAML scalar in a flow sequence: plain if safe, else
// single-quoted, or double-quoted if it needs escapes.
func quoted(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == utf8.RuneError || !unicode.IsPrint(r) && r != ' ' }) {
		return strconv.Quote(s)
	}
	safe := s != "" && !slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off", "~"}, strings.ToLower(s))
	for i, r := range s {
		isWord := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '/'
		if !isWord && (i == 0 || !strings.ContainsRune("0123456789.-=", r)) {
			safe = safe && i == 0 && r == '-' && len(s) > 1 && s[1] != ' '
		}
	}
	if safe {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
