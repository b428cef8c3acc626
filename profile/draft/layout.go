package draft

import (
	"slices"
	"strings"

	"knee/data"
)

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
			knobs = append(knobs, name+": ["+doublings(most)+"]   # "+about[name])
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

// readMegatron passes --recompute-method and --recompute-num-layers only with full
// recomputation, which Megatron-LM allows only with a method: else full is left out.
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
