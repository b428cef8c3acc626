package draft

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v4"

	"knee/data"
	"knee/internal/list"
)

// Study is a first study.
type Study struct {
	Text         string   // study.yaml
	Job, Command string   // as in it
	GlobalBatch  string   // samples of a step that the command fixes; empty if it does not
	Notes        []string // what is left to do before it can be run; empty if nothing
}

// New drafts the study of a command that runs in dir, where its script is read.
func New(command []string, m data.Node, dir string) Study {
	if name, _, set := strings.Cut(command[0], "="); set && !strings.ContainsAny(name, "/-.") {
		command = append([]string{"env"}, command...) // a variable before the program, which a shell would set
	}
	d := &drafting{command: command, machine: m, startsRanks: startsRanks(command)}
	spawns := false
	if i := slices.IndexFunc(command, isScript); i >= 0 {
		name := command[i]
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
	return d.write()
}

type drafting struct {
	command, rendered []string
	parts             []part
	machine           data.Node // cpu without GPUs, with its cores as slots
	startsRanks       bool
	script            string
	scriptFound       bool
	reports           bool
	alone             bool   // nothing in the script joins it to other processes
	format            string // the pattern that reads what the script prints; empty if not known
	globalBatch       string // see [Study]
	notes             []string
}

func (d *drafting) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

//go:embed study.tmpl
var studyText string

var studyTemplate = template.Must(template.New("study").Delims("<<", ">>").Parse(studyText))

func (d *drafting) write() Study {
	job, price := "my-job", "2.0" // US$ per worker and hour, for the user to replace
	slots, what := d.machine.GPUs, "GPUs"
	if d.machine.GPUType == "cpu" {
		what, price = "cores", "0.05"
	}
	if d.script != "" {
		job = strings.TrimSuffix(filepath.Base(d.script), filepath.Ext(d.script))
	}
	if d.script != "" && !d.scriptFound {
		d.note("%s is not here: run knee profile where it is, or set dir: in the study", d.script)
	}
	switch {
	case d.reports:
	case d.format != "":
		d.note("the script seems to print its speed by %[1]s, so metrics is {pattern: %[1]s}: check that it does", d.format)
	default:
		d.note("let the script print a line per step: knee: {\"step\":12,\"step_time_s\":0.041}; or set metrics: {regex: …} or {pattern: …} for what it already prints")
	}
	if filepath.Base(d.command[0]) == "sbatch" {
		d.note("sbatch returns before its job runs, so trials would measure nothing: put the training command of its script here, with launcher: {slurm: …}, which submits a job per trial")
	}
	if d.alone {
		d.note("nothing in %s seems to join its processes: if each trains by itself, set workers: [1]", d.script)
	}
	if _, told := d.named("workers"); d.startsRanks && !told {
		d.note("no flag for the number of processes was found in the command: put {{.Workers}} where it goes, or every trial runs the same number")
	}
	var replaced []string
	for _, p := range d.parts {
		if !p.fixed && p.knob != "" && !slices.Contains(sizes(), p.knob) {
			replaced = append(replaced, p.arg+" was "+cmp.Or(p.word, plain(p.value)))
		}
	}
	s := Study{Job: quoted(job), Command: "[" + strings.Join(list.Map(d.rendered, quoted), ", ") + "]"}
	var b strings.Builder
	err := studyTemplate.Execute(&b, map[string]any{
		"Job": s.Job, "StartsRanks": d.startsRanks, "Replaced": replaced, "Command": s.Command,
		"Reports": d.reports, "Format": d.format, "Patterns": strings.Join(data.MetricPatterns(), ", "), "Model": d.model(),
		"Slots": slots, "What": what, "GPUType": quoted(d.machine.GPUType), "Workers": join(doublings(max(slots, d.modelParallel(), d.perNode(slots)))),
		"Knobs": append(d.layout(slots), d.batches()...), "Price": price,
	})
	if err != nil {
		panic(err) // the template takes any text
	}
	s.Text, s.Notes, s.GlobalBatch = b.String(), d.notes, d.globalBatch
	return s
}

// batches are the knobs of the batch: a range, or with a global batch accumulation.
func (d *drafting) batches() (knobs []string) {
	batch := d.batch()
	whole := slices.IndexFunc(d.parts, func(p part) bool { return p.global })
	local, micro := d.named("local_batch")
	switch {
	case batch == 0:
		d.note("no flag for the batch was found in the command: put {{.LocalBatch}} where it goes, and local_batch into the space")
		knobs = append(knobs, "# local_batch: {min: 16, max: 128, scale: log2}   # and {{.LocalBatch}} in the command")
	case local.fixed:
		knobs = append(knobs, "local_batch: ["+plain(batch)+"]   # of a replica")
	default:
		if p, _ := d.named("workers"); p.spawns && !strings.Contains(local.arg, "per") {
			d.note("{{.LocalBatch}} is the batch of one worker: if %s is that of all, put {{.GlobalBatch}} there", local.arg)
		}
		lo := math.Max(1, math.Round(batch/4))
		knobs = append(knobs, fmt.Sprintf("local_batch: {min: %s, max: %s, scale: log2}   # of a replica; too large ones are detected and avoided",
			plain(lo), plain(math.Max(lo, 2*batch))))
	}
	if whole >= 0 && micro {
		d.globalBatch = plain(d.parts[whole].value)
		knobs = append(knobs, "global_batch: ["+d.globalBatch+"]   # of all together: accumulation follows")
	} else if p, ok := d.named("accum_steps"); ok && p.value == math.Trunc(p.value) {
		knobs = append(knobs, "accum_steps: ["+plain(p.value-1)+"]   # micro-steps beyond the first")
	}
	return knobs
}

// batch is the samples per replica and micro-step; 0: none. A local one comes first.
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

// doublings are the powers of two up to n, which is the last.
func doublings(n int) (all []int) {
	for k := 1; k < n; k *= 2 {
		all = append(all, k)
	}
	return append(all, max(n, 1))
}

func join(all []int) string { return strings.Join(list.Map(all, strconv.Itoa), ", ") }

func plain(v float64) string { return data.Number(math.Round(1e6*v) / 1e6).String() }

// quoted writes a YAML scalar for a list in brackets.
func quoted(s string) string {
	text, err := yaml.Dump(&yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}}}, yaml.WithLineWidth(-1))
	if err != nil {
		panic(err) // any text can be written
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]\n")
}

// reports matches a script that prints knee's lines, or "knee: " + json.dumps(…).
var reports = regexp.MustCompile(`knee_report|knee: *[{"']`)

// format marks the scripts that print the lines of a log pattern; see programs.yaml.
type format struct{ Pattern, Text, Flag string }

// formatOf returns the log pattern of a script by its text, or flags, or none.
func formatOf(script []byte, command []string) string {
	for _, f := range programs().Formats {
		if f.Text != "" && regexp.MustCompile(f.Text).Match(script) ||
			f.Flag != "" && slices.ContainsFunc(command, func(a string) bool { return strings.HasPrefix(a, f.Flag) }) {
			return f.Pattern
		}
	}
	return ""
}

// joins matches a Python script that trains together with other processes.
var joins = regexp.MustCompile(`(?i)distribut|rank|world_size|ddp|fsdp|accelerat|horovod|lightning|transformers|deepspeed|mpi4py|knee_(?:workers|role)|\bray\b`)

// toldByEnvironment matches a script that is started once per rank: it reads RANK.
var toldByEnvironment = regexp.MustCompile(`env://|(?i:environ|getenv)[^\n]*(?:RANK|WORLD_SIZE)`)

// sizes are the knobs of the size of the model that are counts.
func sizes() []string { return data.ArchitectureNames()[1:] }

// named returns the part that sets a knob; a global batch does not count.
func (d *drafting) named(knob string) (part, bool) {
	i := slices.IndexFunc(d.parts, func(p part) bool { return p.knob == knob && !p.global })
	if i < 0 {
		return part{}, false
	}
	return d.parts[i], true
}

// modelParallel is how many workers hold one replica in the command.
func (d *drafting) modelParallel() int {
	n := 1
	for _, knob := range []string{"tp", "pp", "cp"} {
		if p, ok := d.named(knob); ok {
			n *= int(p.value)
		}
	}
	return n
}

// model is the section model, for predictions of other sizes.
func (d *drafting) model() string {
	var keys []string
	for _, key := range sizes() {
		if p, ok := d.named(key); ok {
			keys = append(keys, key+": "+plain(p.value))
		}
	}
	return strings.Join(keys, ", ")
}

// layout returns the layout knobs of the command: tp and pp up to the workers of a node,
// other degrees up to the command's, words as far as the flag takes them.
func (d *drafting) layout(slots int) (knobs []string) {
	about := map[string]string{"tp": "tensor parallelism, best within a node", "pp": "pipeline stages", "cp": "context parallelism", "ep": "expert parallelism"}
	for _, name := range data.LayoutNames() {
		p, ok := d.named(name)
		switch {
		case !ok:
		case data.LayoutWords(name) != nil:
			words := slices.DeleteFunc(data.LayoutWords(name), func(w string) bool { return !slices.Contains(p.words, w) })
			knobs = append(knobs, name+": ["+strings.Join(words, ", ")+"]")
		default:
			most := int(p.value)
			if name == "tp" || name == "pp" {
				most = max(most, d.perNode(slots))
			}
			degrees := doublings(most)
			if layers, known := d.named("layers"); known && name == "pp" {
				degrees = slices.DeleteFunc(degrees, func(pp int) bool { return int(layers.value)%pp != 0 })
			}
			knobs = append(knobs, name+": ["+join(degrees)+"]   # "+about[name])
		}
	}
	return knobs
}

// perNode is the workers per node: slots, or without GPUs those of the command.
func (d *drafting) perNode(slots int) int {
	if p, ok := d.named("workers"); ok && d.machine.GPUType == "cpu" {
		return int(p.value)
	}
	return slots
}

// readMegatron leaves full recomputation out, which Megatron-LM allows only with a method,
// unless the command has one.
func (d *drafting) readMegatron() {
	if name := "--num-layers-per-virtual-pipeline-stage"; slices.Contains(d.command, name) {
		d.note("%s is fixed: leave those pp out of which it does not divide the layers of a stage, and 1", name)
	}
	of := func(arg string) int {
		return slices.IndexFunc(d.parts, func(p part) bool { return strings.TrimLeft(p.arg, "-") == arg })
	}
	if i := of("recompute-granularity"); i >= 0 && of("recompute-method") < 0 && d.parts[i].word != "full" {
		d.parts[i].words = slices.DeleteFunc(d.parts[i].words, func(w string) bool { return w == "full" })
	}
}

// readTorchtitan adds torchtitan's default sharding: zero3, or hybrid with replicas.
func (d *drafting) readTorchtitan() {
	sharding := ""
	for _, a := range d.command {
		name, value, _ := strings.Cut(a, "=")
		switch {
		case name == "--parallelism.data_parallel_replicate_degree" && value != "1":
			sharding = "hybrid"
		case strings.HasPrefix(name, "--parallelism.") && sharding == "":
			sharding = "zero3"
		}
	}
	if _, told := d.named("sharding"); sharding != "" && !told {
		d.parts = append(d.parts, part{knob: "sharding", word: sharding, words: []string{sharding}, fixed: true})
	}
}
