package data

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxKnobValues bounds the values of a knob: more are a mistake, as a step too small.
const maxKnobValues = 100_000

const wantSpace = "at least one knob, such as workers: [1, 2, 4]"

func readSpace(root *object, key string) any {
	var s Space
	o := root.object(key)
	for _, name := range o.keys {
		s = append(s, readKnob(o, name))
		bare := strings.TrimPrefix(name, extraPrefix)
		if bare != name && (o.has(bare) || slices.Contains(configColumns, bare)) {
			o.fail(name, "the name of another knob after x_", "another name: x_ marks a further knob")
		}
	}
	if o.has("local_batch") && o.has("global_batch") && o.has("accum_steps") {
		o.fail("global_batch", "local_batch and accum_steps too", "two of local_batch, global_batch and accum_steps: the third follows")
	}
	return s
}

func readKnob(o *object, name string) Knob {
	k := Knob{Name: name, Source: Source{o.y.file, o.at[name], o.sub(name)}}
	const want = "a list such as [1, 2, 4], or a range such as {min: 1, max: 64, scale: log2}"
	checkKnobName(o, name)
	switch n := o.get(name); {
	case n == nil:
		o.fail(name, "nothing", want)
	case n.Kind == yaml.MappingNode:
		k.Range = readRange(o, name)
	case n.Kind == yaml.SequenceNode:
		k.Values = readValues(o, name, want)
	default:
		o.fail(name, describe(n), want)
	}
	return k
}

// checkKnobName fails for names that cannot be a knob, or no identifiers.
func checkKnobName(o *object, name string) {
	switch {
	case name == "dp":
		o.fail(name, "the number of replicas", "workers, tp, pp and cp: replicas are workers / (tp × pp × cp)")
	case name == "job":
		o.fail(name, "the job", "job beside space: a study is about one job")
	case slices.Contains(resultColumns, name):
		o.fail(name, "a result of a trial", "a knob that can be set")
	case !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) || name == extraPrefix:
		o.fail(name, quote(name), "a name of letters, digits and _, not beginning with a digit")
	}
}

// readValues reads the values of a knob, each once in whatever spelling.
func readValues(o *object, name, want string) []string {
	values := o.texts(name, want)
	if len(values) == 0 {
		o.fail(name, "an empty list", want)
	}
	if len(values) > maxKnobValues {
		o.fail(name, fmt.Sprintf("%d values", len(values)), fmt.Sprintf("at most %d", maxKnobValues))
		return nil
	}
	seen := map[string]bool{}
	for _, v := range values {
		if want := new(Config).Set(name, v); want != "" {
			o.fail(name, quote(v), want)
		}
		key := v
		if name == "gpu_type" {
			key = GPUTypeOf(v)
		}
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			key = strconv.FormatFloat(f, 'g', -1, 64)
		}
		if seen[key] {
			o.fail(name, quote(v)+" twice", "each value once")
		}
		seen[key] = true
	}
	return values
}

// textKnobs are never numbers.
var textKnobs = []string{"gpu_type", "mode", "placement", "sharding", "recompute", "offload"}

// boundsOf returns the numbers that the knob name takes.
func boundsOf(name string) Bounds {
	switch name {
	case "nodes", "workers", "tp", "pp", "cp", "ep":
		return Count(1)
	case "ps", "accum_steps":
		return Count(0)
	case "local_batch", "global_batch":
		return Samples()
	}
	return Any("a finite number")
}

// Set sets the knob called name from text. want is empty, or what is wanted if
// text is invalid. global_batch is only checked: other knobs follow from it.
func (c *Config) Set(name, text string) (want string) {
	b := boundsOf(name)
	x, within := b.Parse(text)
	_, err := strconv.ParseFloat(text, 64)
	number := map[string]*int{"nodes": &c.Nodes, "workers": &c.Workers, "ps": &c.PS, "accum_steps": &c.AccumSteps}[name]
	switch {
	case text == "" || !singleLine(text):
		return "a value on one line"
	case name == "gpu_type":
		c.GPUType = text
	case name == "mode":
		if c.Mode = Mode(text); !slices.Contains(Modes(), c.Mode) {
			return "allreduce, ps-sync or ps-async"
		}
	case name == "placement":
		if c.Placement, err = ParsePlacement(text); err != nil {
			return "workers per node, such as 4-4-2"
		}
	case layoutIndex(name) >= 0:
		return c.Layout.Set(name, text)
	case number == nil && name != "local_batch" && name != "global_batch":
		if err == nil && !within {
			return b.Instead(text) + ", or text"
		}
		if c.Extra == nil {
			c.Extra = map[string]string{}
		}
		c.Extra[strings.TrimPrefix(name, extraPrefix)] = text
	case !within:
		return b.Instead(text)
	case number != nil:
		*number = int(x)
	case name == "local_batch":
		c.LocalBatch = x
	}
	return ""
}

func readRange(o *object, name string) *Range {
	if slices.Contains(textKnobs, name) {
		o.fail(name, "a range", "a list of values, since "+name+" is not a number")
	}
	sub := o.object(name, "min", "max", "scale", "step")
	r := &Range{
		Min:   readBound(sub, "min", name),
		Max:   readBound(sub, "max", name),
		Scale: cmp.Or(sub.text("scale"), "linear"),
		Step:  sub.number("step", 0, Positive("a number")),
	}
	sub.oneOf("scale", r.Scale, []string{"linear", "log2"})
	switch {
	case r.Max < r.Min:
		sub.fail("max", numberText(r.Max), "at least min, "+numberText(r.Min))
	case r.Scale == "log2" && r.Min <= 0:
		sub.fail("min", numberText(r.Min), "a number > 0, since scale is log2")
	case r.Scale == "log2" && r.Step != 0:
		sub.fail("step", numberText(r.Step), "no step, since scale log2 doubles")
	case r.Scale == "linear" && (r.Max-r.Min)/cmp.Or(r.Step, 1) > maxKnobValues:
		sub.fail("step", numberText(cmp.Or(r.Step, 1)), fmt.Sprintf("a step that gives at most %d values, or scale: log2", maxKnobValues))
	case boundsOf(name).Whole && r.Step != math.Trunc(r.Step):
		sub.fail("step", numberText(r.Step), "a whole number")
	}
	return r
}

func readBound(sub *object, key, name string) float64 {
	b := boundsOf(name)
	if sub.get(key) == nil {
		sub.fail(key, "nothing", b.String())
	}
	return sub.number(key, 0, b)
}
