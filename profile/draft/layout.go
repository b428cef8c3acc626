package draft

import (
	"slices"
	"strings"

	"knee/data"
)

// layoutFlags lists the flags of the parallel layout and of the model size.
func layoutFlags() []flag {
	strategies := fsdpStrategies()
	granularity := map[string]string{"selective": "selective", "full": "full"}
	return []flag{
		{names: []string{"tensor-model-parallel-size", "tensor-parallel-size", "tensor-parallel-degree", "tp-size", "tp"}, knob: "tp", field: "{{.TP}}"},
		{names: []string{"pipeline-model-parallel-size", "pipeline-parallel-size", "pipeline-parallel-degree", "pp-size", "pp"}, knob: "pp", field: "{{.PP}}"},
		{names: []string{"context-parallel-size", "context-parallel-degree", "cp-size", "cp"}, knob: "cp", field: "{{.CP}}"},
		{names: []string{"expert-model-parallel-size", "expert-parallel-degree", "ep-size", "ep"}, knob: "ep", field: "{{.EP}}"},
		{names: []string{"use-distributed-optimizer"}, knob: "sharding", bare: "zero1", words: map[string]string{"true": "zero1"}, when: `ne .Sharding "none"`},
		{names: []string{"zero-stage"}, knob: "sharding", field: "{{.ShardingStage}}", words: map[string]string{"0": "none", "1": "zero1", "2": "zero2", "3": "zero3"}},
		{names: []string{"fsdp-sharding-strategy"}, knob: "sharding", field: "{{.ShardingStrategy}}", words: strategies},
		{names: []string{"fsdp"}, knob: "sharding", words: withAutoWrap(strategies)},
		{names: []string{"recompute-granularity"}, knob: "recompute", field: "{{.Recompute}}", words: granularity, when: `ne .Recompute "none"`},
		{names: []string{"activations-checkpoint-granularity"}, knob: "recompute", field: `{{if eq .Recompute "none"}}null{{else}}{{.Recompute}}{{end}}`,
			words: map[string]string{"selective": "selective", "full": "full", "null": "none"}},
		{names: []string{"activation-checkpoint.mode"}, knob: "recompute", field: "{{.Recompute}}", words: map[string]string{"none": "none", "selective": "selective", "full": "full"}},
		{names: []string{"gradient-checkpointing", "fsdp-activation-checkpointing"}, knob: "recompute", bare: "full",
			field: `{{if eq .Recompute "full"}}true{{else}}false{{end}}`, words: map[string]string{"true": "full", "false": "none"}},
		{names: []string{"num-layers"}, knob: "layers"},
		{names: []string{"hidden-size"}, knob: "hidden"},
		{names: []string{"num-attention-heads"}, knob: "heads"},
		{names: []string{"seq-length", "seq-len", "encoder-seq-length"}, knob: "seq_len"},
		{names: []string{"vocab-size", "padded-vocab-size"}, knob: "vocab"},
		{names: []string{"num-experts"}, knob: "experts"},
	}
}

// fsdpStrategies maps FSDP's strategies, and their numbers, to the study's words.
func fsdpStrategies() map[string]string {
	return map[string]string{"full_shard": "zero3", "shard_grad_op": "zero2", "no_shard": "none", "hybrid_shard": "hybrid",
		"1": "zero3", "2": "zero2", "3": "none", "4": "hybrid"}
}

// withAutoWrap adds strategies with " auto_wrap", as the Trainer's --fsdp takes
// them.
func withAutoWrap(strategies map[string]string) map[string]string {
	all := map[string]string{}
	for theirs, ours := range strategies {
		all[theirs], all[theirs+" auto_wrap"] = ours, ours
	}
	return all
}

func architecture() []string {
	return []string{"layers", "hidden", "heads", "seq_len", "vocab", "experts"}
}

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
	for _, key := range architecture() {
		if p, ok := d.named(key); ok {
			keys = append(keys, key+": "+plain(p.value))
		}
	}
	return strings.Join(keys, ", ")
}

// layout returns the layout knobs that the command sets: tp and pp up to the
// workers of a node, other degrees up to the command's, words as far as the
// flag takes them.
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
				most = max(most, min(slots, d.perNode(slots)))
			}
			knobs = append(knobs, name+": ["+joined(doublings(most))+"]   # "+about[name])
		}
	}
	return knobs
}

// perNode is the number of workers per node: slots, or, on a machine without
// GPUs, the workers that the command starts per node.
func (d *drafting) perNode(slots int) int {
	if p, ok := d.named("workers"); ok && d.machine.GPUs == 0 {
		return int(p.value)
	}
	return slots
}

// readMegatron passes --recompute-method and --recompute-num-layers only with
// full recomputation, and leaves full out of the space if the command has no
// method: Megatron-LM requires one with full and refuses it without.
func (d *drafting) readMegatron() {
	i := slices.IndexFunc(d.parts, func(p part) bool { return strings.TrimLeft(p.arg, "-") == "recompute-granularity" })
	if i < 0 {
		return
	}
	told := false
	for k, a := range d.rendered {
		name, _, joined := strings.Cut(a, "=")
		if name != "--recompute-method" && name != "--recompute-num-layers" {
			continue
		}
		told = told || name == "--recompute-method"
		for at := k; at <= k+1 && at < len(d.rendered); at++ {
			d.rendered[at] = `{{if eq .Recompute "full"}}` + d.rendered[at] + "{{end}}"
			if joined {
				break
			}
		}
	}
	if p := &d.parts[i]; !told && p.word != "full" {
		p.words = slices.DeleteFunc(p.words, func(w string) bool { return w == "full" })
	}
}

// readTorchtitan adds torchtitan's default sharding: zero3 over all replicas,
// or hybrid with a replicate degree.
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
