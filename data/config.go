package data

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/internal/list"
)

// Mode is how the replicas of a job synchronise their parameters.
type Mode string

// The synchronisation modes knee models and measures.
const (
	AllReduce Mode = "allreduce" // gradients averaged by a collective, no parameter server
	PSSync    Mode = "ps-sync"   // parameter servers, all workers in lockstep
	PSAsync   Mode = "ps-async"  // parameter servers, workers do not wait for one another
)

// Modes lists the modes in the order they are documented.
func Modes() []Mode { return []Mode{AllReduce, PSSync, PSAsync} }

// ParseMode returns the mode named s, or an error that lists the known modes.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", fmt.Errorf("mode %q is unknown; want allreduce, ps-sync or ps-async", s)
}

// UsesPS reports whether the mode needs at least one parameter server.
func (m Mode) UsesPS() bool { return m == PSSync || m == PSAsync }

// Config is one configuration of a job: a point of the search space. It is a value: two
// of a model are the same configuration if and only if their Keys are equal.
type Config struct {
	Job          string            `json:"job,omitempty" csv:"job" keep:""`
	GPUType      string            `json:"gpu_type,omitempty" csv:"gpu_type" keep:""`                    // "a100", "t4", "cpu", …
	Mode         Mode              `json:"mode,omitempty" csv:"mode" by:"hand" keep:"allreduce"`         // empty means AllReduce
	Placement    Placement         `json:"placement,omitempty" csv:"placement" by:"hand"`                // workers per node; nil if not known
	Nodes        int               `json:"nodes,omitempty" csv:"nodes" min:"1"`                          // 0 if not known
	Workers      int               `json:"workers" csv:"workers" min:"1" keep:"0"`                       // ≥ 1
	PS           int               `json:"ps,omitempty" csv:"ps" keep:"0"`                               // parameter servers
	LocalBatch   float64           `json:"local_batch,omitempty" csv:"local_batch" is:"samples" keep:""` // samples per replica (worker, without a layout) per micro-step; 0 if not known
	AccumSteps   int               `json:"accum_steps,omitempty" csv:"accum_steps" keep:"0"`             // extra accumulation micro-steps, 0 = none
	Layout                         // how the model is divided over the workers
	Architecture                   // of the model, which Key leaves out
	Extra        map[string]string `json:"extra,omitempty" csv:"-"` // further knobs, by name without the x_ prefix
}

// GlobalBatch returns the samples of an optimizer step over all replicas, replicas × local
// batch × (accumulation steps + 1); of PSAsync see [Config.SamplesPerStep].
func (c Config) GlobalBatch() float64 {
	return float64(c.Replicas()) * c.LocalBatch * float64(c.AccumSteps+1)
}

// SamplesPerStep returns the samples of one measured step: the global batch, except in
// PSAsync, where a step is one update by one worker.
func (c Config) SamplesPerStep() float64 {
	if c.Mode == PSAsync {
		return c.LocalBatch * float64(c.AccumSteps+1)
	}
	return c.GlobalBatch()
}

// NodeCount returns the nodes of the placement, else Nodes, else 1.
func (c Config) NodeCount() int {
	return cmp.Or(len(c.Placement), c.Nodes, 1)
}

// WidestNode returns the most workers on a node; without a placement, of an even one.
func (c Config) WidestNode() int {
	if len(c.Placement) > 0 {
		return slices.Max(c.Placement)
	}
	n := c.NodeCount()
	return (c.Workers + n - 1) / n
}

// Key identifies the configuration: equal keys mean the same one.
func (c Config) Key() string {
	b := make([]byte, 0, 96) // hot: tens of thousands are compared at a time
	for _, s := range []string{c.Job, c.GPUType, string(c.ModeOrDefault())} {
		b = append(append(b, s...), '|')
	}
	b = append(append(b, c.Placement.String()...), '|')
	for _, n := range []int{c.Nodes, c.Workers, c.PS} {
		b = append(strconv.AppendInt(b, int64(n), 10), '|')
	}
	b = strconv.AppendFloat(b, c.LocalBatch, 'g', -1, 64)
	b = strconv.AppendInt(append(b, '|'), int64(c.AccumSteps), 10)
	if !c.Plain() {
		b = append(append(b, '|'), c.Layout.String()...)
	}
	for _, k := range slices.Sorted(maps.Keys(c.Extra)) {
		b = append(append(append(append(b, '|'), k...), '='), knobText(c.Extra[k])...)
	}
	return string(b)
}

// knobText is the value of a further knob; of a number the shortest text: 128 for 128.0.
func knobText(value string) string {
	if v, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return numberText(v)
	}
	return value
}

// ModeOrDefault returns the mode, AllReduce if none is set.
func (c Config) ModeOrDefault() Mode {
	return cmp.Or(c.Mode, AllReduce)
}

// Kind names GPU type and mode for people: "a100, allreduce", "(no gpu_type), allreduce".
func (c Config) Kind() string {
	return cmp.Or(c.GPUType, "(no gpu_type)") + ", " + string(c.ModeOrDefault())
}

// String describes it for people, such as "4 × a100, allreduce, batch 64".
func (c Config) String() string {
	parts := []string{fmt.Sprintf("%d × %s", c.Workers, c.GPUType)}
	if c.GPUType == "" {
		parts[0] = english.Plural(c.Workers, "worker", "")
	}
	switch n := c.NodeCount(); {
	case n > 1 && len(c.Placement) > 0 && slices.Max(c.Placement) != slices.Min(c.Placement):
		parts[0] += " as " + c.Placement.String()
	case n > 1:
		parts[0] += fmt.Sprintf(" on %d nodes", n)
	}
	if c.PS > 0 {
		parts = append(parts, fmt.Sprintf("%d ps", c.PS))
	}
	parts = append(parts, string(c.ModeOrDefault()))
	if c.LocalBatch > 0 {
		parts = append(parts, "batch "+strconv.FormatFloat(c.LocalBatch, 'g', 6, 64))
	}
	if c.AccumSteps > 0 {
		parts = append(parts, fmt.Sprintf("accumulation %d", c.AccumSteps))
	}
	if s := c.Layout.String(); s != "" {
		parts = append(parts, s)
	}
	for _, k := range slices.Sorted(maps.Keys(c.Extra)) {
		parts = append(parts, k+" "+c.Extra[k])
	}
	return strings.Join(parts, ", ")
}

// Placement is the number of workers on each node, written "4-4-2".
type Placement []int

// ParsePlacement reads a placement such as "4-4-2".
func ParsePlacement(s string) (Placement, error) {
	if s == "" {
		return nil, nil
	}
	var p Placement
	for f := range strings.SplitSeq(s, "-") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("placement %q: %q is not a number of workers; want workers per node, such as 4-4-2", s, f)
		}
		p = append(p, n)
	}
	return p, nil
}

// EvenPlacement divides workers, more on the first nodes; nil unless 1 ≤ nodes ≤ workers.
func EvenPlacement(workers, nodes int) Placement {
	if nodes < 1 || nodes > workers {
		return nil
	}
	p := make(Placement, nodes)
	for i := range p {
		p[i] = workers / nodes
		if i < workers%nodes {
			p[i]++
		}
	}
	return p
}

// Workers returns the total number of workers.
func (p Placement) Workers() int {
	return list.Sum(p, func(workers int) int { return workers })
}

// String returns the form that ParsePlacement reads.
func (p Placement) String() string {
	var s []byte
	for i, w := range p {
		if i > 0 {
			s = append(s, '-')
		}
		s = strconv.AppendInt(s, int64(w), 10)
	}
	return string(s)
}

func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Placement) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePlacement(string(b))
	return err
}
