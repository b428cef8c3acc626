package data

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"knee/internal/list"
)

// Layout is how a model is divided over workers; zero is plain data parallelism.
type Layout struct {
	TP        int    `json:"tp,omitempty" csv:"tp" by:"hand" yaml:"tp" min:"1"`                          // tensor-parallel degree; 0 means 1, as for all degrees
	PP        int    `json:"pp,omitempty" csv:"pp" by:"hand" yaml:"pp" min:"1"`                          // pipeline stages
	CP        int    `json:"cp,omitempty" csv:"cp" by:"hand" yaml:"cp" min:"1"`                          // context-parallel (sequence) degree
	EP        int    `json:"ep,omitempty" csv:"ep" by:"hand" yaml:"ep" min:"1"`                          // expert-parallel degree, within the replicas
	Sharding  string `json:"sharding,omitempty" csv:"sharding" by:"hand" yaml:"sharding" is:"layout"`    // state divided among replicas: one of [LayoutWords]
	Recompute string `json:"recompute,omitempty" csv:"recompute" by:"hand" yaml:"recompute" is:"layout"` // activations recomputed in the backward pass
	Offload   string `json:"offload,omitempty" csv:"offload" by:"hand" yaml:"offload" is:"layout"`       // state kept in host memory
	// Unknown says that other rows of the table have a layout, but not this one.
	Unknown bool `json:"layout_unknown,omitempty" csv:"-"`
	// MicroUnknown says that LocalBatch is the whole batch, of an unknown number of micro-batches.
	MicroUnknown bool `json:"micro_batches_unknown,omitempty" csv:"-"`
}

// layoutColumn is a column, or key of a study, that is part of a [Layout].
type layoutColumn struct {
	name  string
	count func(l *Layout) *int    // a degree
	word  func(l *Layout) *string // else one of words
	words []string                // the first is the default, kept as ""
}

var layoutColumns = []layoutColumn{
	{name: "tp", count: func(l *Layout) *int { return &l.TP }},
	{name: "pp", count: func(l *Layout) *int { return &l.PP }},
	{name: "cp", count: func(l *Layout) *int { return &l.CP }},
	{name: "ep", count: func(l *Layout) *int { return &l.EP }},
	{name: "sharding", word: func(l *Layout) *string { return &l.Sharding }, words: []string{"none", "zero1", "zero2", "zero3", "hybrid"}},
	{name: "recompute", word: func(l *Layout) *string { return &l.Recompute }, words: []string{"none", "selective", "full"}},
	{name: "offload", word: func(l *Layout) *string { return &l.Offload }, words: []string{"none", "cpu", "optimizer", "activations"}},
}

// LayoutNames are the parts of a [Layout], as columns and as keys of a study.
func LayoutNames() []string {
	return list.Map(layoutColumns, func(c layoutColumn) string { return c.name })
}

// LayoutWords are the values of a part, the default first; nil for a degree.
func LayoutWords(name string) []string {
	return slices.Clone(layoutColumns[layoutIndex(name)].words)
}

func layoutIndex(name string) int {
	return slices.IndexFunc(layoutColumns, func(c layoutColumn) bool { return c.name == name })
}

// Get returns a part as text, "1" or "none" by default.
func (l Layout) Get(name string) string {
	c := layoutColumns[layoutIndex(name)]
	if c.count != nil {
		return strconv.Itoa(max(*c.count(&l), 1))
	}
	return cmp.Or(*c.word(&l), c.words[0])
}

// Set sets a part from text. want is empty, or what is wanted if text is invalid.
func (l *Layout) Set(name, text string) (want string) {
	c := layoutColumns[layoutIndex(name)]
	if c.count != nil {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxCount {
			return Count(1).String()
		}
		*c.count(l) = n
		return ""
	}
	if !slices.Contains(c.words, text) {
		return "one of " + strings.Join(c.words, ", ")
	}
	if *c.word(l) = text; text == c.words[0] {
		*c.word(l) = ""
	}
	return ""
}

// Plain reports whether this is data parallelism only.
func (l Layout) Plain() bool {
	return l.ModelParallel() == 1 && l.EP <= 1 && l.Sharding == "" && l.Recompute == "" && l.Offload == ""
}

// ModelParallel returns the workers that hold one replica: tp × pp × cp.
func (l Layout) ModelParallel() int { return max(l.TP, 1) * max(l.PP, 1) * max(l.CP, 1) }

// String returns the parts that are not the default: "tp 4, pp 2, zero1".
func (l Layout) String() string {
	var parts []string
	for _, c := range layoutColumns {
		switch v := l.Get(c.name); {
		case c.count != nil && v != "1":
			parts = append(parts, c.name+" "+v)
		case c.words == nil || v == c.words[0]:
		case c.name == "sharding":
			parts = append(parts, v)
		default:
			parts = append(parts, c.name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// Check returns a column that contradicts the others, its value, and what is wanted, empty
// if there is none. a is the architecture of the model, zero if not known.
func (l Layout) Check(workers int, mode Mode, a Architecture) (column, found, want string) {
	switch n := l.ModelParallel(); {
	case l.Plain():
	case mode.UsesPS():
		return "mode", string(mode), "allreduce: tensor and pipeline parallelism, sharding, recomputation and offloading are modelled without parameter servers"
	case workers > 0 && workers%n != 0:
		return "workers", strconv.Itoa(workers), fmt.Sprintf("a multiple of tp × pp × cp, which is %d", n)
	case workers > 0 && l.EP > 1 && (workers/n*max(l.CP, 1))%l.EP != 0:
		return "ep", strconv.Itoa(l.EP), fmt.Sprintf("a divisor of the %d replicas", workers/n)
	case a.Experts > 0 && a.Experts%max(l.EP, 1) != 0:
		return "ep", strconv.Itoa(l.EP), fmt.Sprintf("a divisor of the %d experts of the model", a.Experts)
	case a.Layers > 0 && l.PP > a.Layers:
		return "pp", strconv.Itoa(l.PP), fmt.Sprintf("at most the %d layers of the model", a.Layers)
	case a.Heads > 0 && l.TP > a.Heads:
		return "tp", strconv.Itoa(l.TP), fmt.Sprintf("at most the %d attention heads of the model", a.Heads)
	}
	return "", "", ""
}

// Replicas is the data-parallel width, workers / (tp × pp × cp), at least 1.
func (c Config) Replicas() int { return max(c.Workers/c.ModelParallel(), 1) }

// Architecture is the size of a transformer. Zero means not known.
type Architecture struct {
	Parameters float64 `json:"model_parameters,omitempty" csv:"model_parameters" yaml:"parameters" is:"positive" of:"parameters"`
	Layers     int     `json:"layers,omitempty" csv:"layers" yaml:"layers" min:"1"`
	Hidden     int     `json:"hidden,omitempty" csv:"hidden" yaml:"hidden" min:"1"`
	Heads      int     `json:"heads,omitempty" csv:"heads" yaml:"heads" min:"1"`
	SeqLen     int     `json:"seq_len,omitempty" csv:"seq_len" yaml:"seq_len" min:"1"` // tokens per sample
	Vocab      int     `json:"vocab,omitempty" csv:"vocab" yaml:"vocab" min:"1"`
	Experts    int     `json:"experts,omitempty" csv:"experts" yaml:"experts" min:"1"`
}

var architectureNames = ColumnNames[Architecture]()

// ArchitectureNames are the columns of an architecture: a number, then counts.
func ArchitectureNames() []string { return slices.Clone(architectureNames) }

func (a *Architecture) count(name string) *int {
	return map[string]*int{"layers": &a.Layers, "hidden": &a.Hidden, "heads": &a.Heads, "seq_len": &a.SeqLen, "vocab": &a.Vocab, "experts": &a.Experts}[name]
}

// VariedSizes returns the columns of the network's size that take several values.
func VariedSizes(ms []Measurement) []string {
	return slices.DeleteFunc(ArchitectureNames(), func(name string) bool {
		values := map[string]bool{"": true} // not known
		for i := range ms {
			values[ms[i].Column(name)] = true
		}
		return len(values) <= 2
	})
}

// SizesAsKnobs makes sizes of networks knobs, so that rows that differ in them read so.
func SizesAsKnobs(ms []Measurement, names []string) {
	for i := range ms {
		for _, name := range names {
			if v := ms[i].Column(name); v != "" {
				ms[i].Extra = maps.Clone(ms[i].Extra)
				if ms[i].Extra == nil {
					ms[i].Extra = map[string]string{}
				}
				ms[i].Extra[name] = v
			}
		}
	}
}

// Column returns the text of a column, empty if it is not known.
func (a Architecture) Column(name string) string {
	if n := a.count(name); n != nil {
		return formatCount(*n)
	}
	return formatFloat(a.Parameters)
}

// SetColumn sets a column. It changes nothing if text is no number.
func (a *Architecture) SetColumn(name, text string) {
	v, err := strconv.ParseFloat(text, 64)
	switch n := a.count(name); {
	case err != nil:
	case n != nil:
		*n = int(v)
	default:
		a.Parameters = v
	}
}

// Or fills in what is not known, the number of parameters only if layers, hidden size and
// experts are not.
func (a Architecture) Or(other Architecture) Architecture {
	if a.Layers > 0 || a.Hidden > 0 || a.Experts > 0 {
		other.Parameters = 0
	}
	if a.Parameters > 0 {
		other.Layers, other.Hidden, other.Heads, other.Experts = 0, 0, 0, 0
	}
	return Architecture{cmp.Or(a.Parameters, other.Parameters), cmp.Or(a.Layers, other.Layers), cmp.Or(a.Hidden, other.Hidden),
		cmp.Or(a.Heads, other.Heads), cmp.Or(a.SeqLen, other.SeqLen), cmp.Or(a.Vocab, other.Vocab), cmp.Or(a.Experts, other.Experts)}
}

// Known reports whether operations and bytes can be counted.
func (a Architecture) Known() bool { return a.Layers > 0 && a.Hidden > 0 && a.SeqLen > 0 }

// Zero reports whether nothing is known.
func (a Architecture) Zero() bool { return a == Architecture{} }

// Count returns the parameters: those given, else those of a transformer with feed-forward layers
// of four times the hidden size, 12·l·h² + 13·l·h + v·h (Narayanan et al., "Efficient large-scale
// language model training", SC'21, equation 2, without positions), of which 8·l·h² for each
// expert. An unknown vocabulary is left out.
func (a Architecture) Count() float64 {
	return cmp.Or(a.Parameters, a.outside()+8*float64(a.Layers*a.Hidden*a.Hidden*max(a.Experts, 1)))
}

// outside returns the parameters outside feed-forward layers.
func (a Architecture) outside() float64 {
	l, h := float64(a.Layers), float64(a.Hidden)
	return 4*l*h*h + 13*l*h + float64(a.Vocab)*h
}

// InExperts returns the share of the parameters that is in experts.
func (a Architecture) InExperts() float64 {
	if a.Experts <= 1 || a.Count() == 0 {
		return 0
	}
	return max(1-a.outside()/a.Count(), 0)
}

// FLOPs returns the floating-point operations of a forward and backward pass of
// one sample: 6 per parameter and token, and those of attention (the same,
// equation 3, with 3 instead of 4 passes: without recomputation), of which a causal
// mask leaves half (Dao, "FlashAttention-2", 2023, section 4). A token
// passes two experts of a layer (Lepikhin et al., "GShard", 2021).
func (a Architecture) FLOPs() float64 {
	s, l, h := float64(a.SeqLen), float64(a.Layers), float64(a.Hidden)
	idle := a.InExperts() * (1 - min(2/float64(max(a.Experts, 1)), 1))
	return 6*s*a.Count()*(1-idle) + 6*l*s*s*h
}

// AttentionFLOPs returns the operations of attention for one sample if heads, as usual, have
// a width of 128: in proportion to the scores, of which each head has one for every pair of
// tokens. Without heads it takes their width times their number as the hidden size.
func (a Architecture) AttentionFLOPs() float64 {
	s, l := float64(a.SeqLen), float64(a.Layers)
	return 12 * l * s * s * cmp.Or(128*float64(a.Heads), float64(a.Hidden))
}

func (a *Architecture) validate(o *object) {
	if a.Heads > 0 && a.Hidden > 0 && a.Hidden%a.Heads != 0 {
		o.fail("heads", strconv.Itoa(a.Heads), "a divisor of hidden, "+strconv.Itoa(a.Hidden))
	}
	rest := *a
	rest.Parameters = 0
	least, most := rest.outside()/10, 10*rest.Count() // experts may be smaller than a dense layer
	const fewest = 1e5                                // of a transformer; fewer are meant in millions or billions
	switch {
	case a.Parameters == 0:
	case a.Layers > 0 && a.Hidden > 0 && (a.Parameters < least || a.Parameters > most):
		o.fail("parameters", fmt.Sprintf("%g", a.Parameters), fmt.Sprintf("a number such as 7e9: layers and hidden say about %.2g", rest.Count()))
	case (a.Layers == 0 || a.Hidden == 0) && a.Parameters < fewest:
		o.fail("parameters", fmt.Sprintf("%g", a.Parameters), fmt.Sprintf("all parameters of a transformer, at least %g, such as 7e9", fewest))
	}
}

// ReadArchitecture reads the size of a model from YAML, with or without the key model.
func ReadArchitecture(r io.Reader, name string) (Architecture, error) {
	type either struct {
		Architecture
		Model Architecture `yaml:"model"`
	}
	file, err := readYAML(r, name, &either{})
	if err != nil {
		return Architecture{}, err
	}
	a := cmp.Or(file.Architecture, file.Model)
	if a.Zero() {
		err = &InputError{Source: Source{name, 1, "parameters"}, Found: "nothing", Want: "parameters, or layers, hidden and seq_len, of the model"}
	}
	return a, err
}
