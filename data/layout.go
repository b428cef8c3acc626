package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Layout is how a model is divided over the workers of a job. The zero value is
// plain data parallelism: every worker holds the whole model.
type Layout struct {
	TP        int    `json:"tp,omitempty" yaml:"tp" min:"1"`                   // tensor-parallel degree; 0 means 1, as for all degrees
	PP        int    `json:"pp,omitempty" yaml:"pp" min:"1"`                   // pipeline stages
	CP        int    `json:"cp,omitempty" yaml:"cp" min:"1"`                   // context-parallel (sequence) degree
	EP        int    `json:"ep,omitempty" yaml:"ep" min:"1"`                   // expert-parallel degree, within the replicas
	Sharding  string `json:"sharding,omitempty" yaml:"sharding" is:"layout"`   // state divided among replicas: one of [LayoutWords]
	Recompute string `json:"recompute,omitempty" yaml:"recompute" is:"layout"` // activations recomputed in the backward pass
	Offload   string `json:"offload,omitempty" yaml:"offload" is:"layout"`     // state kept in host memory
	// Unknown says that other rows of the same table have a layout, but not this
	// one.
	Unknown bool `json:"layout_unknown,omitempty"`
	// MicroUnknown says that the number of micro-batches of a replica's batch is
	// not known: LocalBatch is the whole batch.
	MicroUnknown bool `json:"micro_batches_unknown,omitempty"`
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

// LayoutNames lists the names of the parts of a [Layout], as columns and as
// keys of a study.
func LayoutNames() []string {
	var names []string
	for _, c := range layoutColumns {
		names = append(names, c.name)
	}
	return names
}

// LayoutWords returns the values of the part name of a layout, the default
// first; nil for a degree.
func LayoutWords(name string) []string {
	if i := layoutIndex(name); i >= 0 {
		return slices.Clone(layoutColumns[i].words)
	}
	return nil
}

func layoutIndex(name string) int {
	return slices.IndexFunc(layoutColumns, func(c layoutColumn) bool { return c.name == name })
}

// Get returns the part name as text, "1" or "none" by default, and "" for an
// unknown part.
func (l Layout) Get(name string) string {
	i := layoutIndex(name)
	if i < 0 {
		return ""
	}
	if c := layoutColumns[i]; c.count != nil {
		return strconv.Itoa(max(*c.count(&l), 1))
	} else if v := *c.word(&l); v != "" {
		return v
	} else {
		return c.words[0]
	}
}

// Set sets the part name from text. want is empty, or what is wanted if text is
// invalid.
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

// Plain reports whether this is data parallelism only, without sharding,
// recomputation or offloading.
func (l Layout) Plain() bool {
	return l.ModelParallel() == 1 && l.EP <= 1 && l.Sharding == "" && l.Recompute == "" && l.Offload == ""
}

// ModelParallel returns the workers that hold one replica: tp × pp × cp.
func (l Layout) ModelParallel() int { return max(l.TP, 1) * max(l.PP, 1) * max(l.CP, 1) }

// String returns the parts that are not the default, such as "tp 4, pp 2,
// zero1".
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

// Check returns a column of a configuration that contradicts the others, its
// value, and what is wanted; want is empty if there is none. a is the
// architecture of the model, zero if not known.
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

// Replicas returns the data-parallel width: workers / (tp × pp × cp), at
// least 1.
func (c Config) Replicas() int { return max(c.Workers/c.ModelParallel(), 1) }
