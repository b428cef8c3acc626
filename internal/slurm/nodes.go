package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
)

// Node is one node of a cluster.
type Node struct {
	Name   string
	CPUs   int   // for jobs, without those reserved for the system
	Memory int64 // bytes, likewise
	GRES   []GRES
	States []string // upper case: IDLE, DRAIN, …

	Partitions, Features []string
}

// Usable reports whether jobs can be placed, also on nodes powered down to save power.
func (n Node) Usable() bool {
	return !slices.ContainsFunc(n.States, func(s string) bool {
		switch strings.TrimRight(s, "*$~#!%@^-+") {
		case "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "INVAL", "INVALID_REG", "MAINT", "MAINTENANCE",
			"FUTURE", "NOT_RESPONDING", "NO_RESPOND", "UNKNOWN":
			return true
		}
		return strings.HasSuffix(s, "*") // does not respond
	})
}

// GRES is one generic resource of a node, "gpu:a100:4".
type GRES struct {
	Name  string // "gpu"
	Type  string // "a100"; empty if it has none
	Count int
}

// Nodes returns the nodes in the order of the configuration, by the plain text that scontrol
// prints in every version; its JSON exists since 23.02 and differs between versions.
func Nodes(ctx context.Context) ([]Node, error) {
	out, err := run(ctx, "scontrol", "--all", "show", "node", "--oneliner") // with their hidden partitions
	if err != nil {
		return nil, fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	return ParseNodes(out)
}

// maxMiB limits the memory of a node, so that it fits an int64 in bytes.
const maxMiB = 1 << 40

// ParseNodes parses the output of `scontrol show node --oneliner`.
func ParseNodes(out string) ([]Node, error) {
	var nodes []Node
	for i, line := range strings.Split(out, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := parseNode(line)
		if err != nil {
			return nil, fmt.Errorf("scontrol show node, line %d: %w", i+1, err)
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, errors.New("scontrol show node: found no node")
	}
	return nodes, nil
}

func parseNode(line string) (Node, error) {
	f := fieldsOf(line)
	var err error
	whole := func(key string) int64 {
		v, bad := strconv.ParseInt(cmp.Or(f[key], "0"), 10, 64)
		if bad != nil || v < 0 || v > maxMiB {
			err = fmt.Errorf("found %s=%.80s, want a whole number from 0 to %d", key, f[key], int64(maxMiB))
		}
		return v
	}
	cpus := whole("CPUTot")
	if f["CPUEfctv"] != "" {
		cpus = whole("CPUEfctv")
	}
	n := Node{Name: f["NodeName"], CPUs: int(cpus), Memory: max(0, whole("RealMemory")-whole("MemSpecLimit")) << 20, States: strings.Split(strings.ToUpper(f["State"]), "+"),
		Partitions: strings.Split(f["Partitions"], ","), Features: strings.Split(f["ActiveFeatures"], ",")}
	var bad error
	if n.GRES, bad = ParseGRES(f["Gres"]); err == nil {
		err = bad
	}
	if n.Name == "" {
		err = fmt.Errorf("found %.120q, want NodeName=…", line)
	}
	return n, err
}

// inParentheses matches the sockets or indices at the end of an entry.
var inParentheses = regexp.MustCompile(`\([^)]*\)?[^,]*`)

// ParseGRES parses "gpu:a100:4(S:0-1),nic:2,shard:8K"; K is 1024, M is 1024².
func ParseGRES(s string) ([]GRES, error) {
	var list []GRES
	if s == "" || s == "(null)" || s == "N/A" {
		return nil, nil
	}
	for entry := range strings.SplitSeq(inParentheses.ReplaceAllString(s, ""), ",") {
		f := strings.Split(entry, ":")
		g := GRES{Name: f[0], Count: 1}
		if n, ok := gresCount(f[len(f)-1]); ok && len(f) > 1 {
			g.Count = n
			f = f[:len(f)-1]
		}
		for _, part := range f[1:] {
			if part != "no_consume" {
				g.Type = part
			}
		}
		if g.Name == "" || len(f) > 2 && f[2] != "no_consume" || len(f) > 3 {
			return nil, fmt.Errorf("generic resource %.80q: want NAME[:TYPE][:no_consume][:COUNT]", entry)
		}
		list = append(list, g)
	}
	return list, nil
}

func gresCount(s string) (int, bool) {
	unit := 1
	switch {
	case strings.HasSuffix(s, "K"):
		s, unit = s[:len(s)-1], 1<<10
	case strings.HasSuffix(s, "M"):
		s, unit = s[:len(s)-1], 1<<20
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<31 {
		return 0, false
	}
	return n * unit, true
}

// Cluster describes the nodes of the cluster of this machine, as [Describe] does.
func Cluster(ctx context.Context) (*data.Cluster, []string, error) {
	nodes, err := Nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, warnings := Describe(nodes)
	return c, warnings, nil
}

// Describe converts nodes. A GPU type has the cluster's name, as jobs request it. The
// warnings name GPUs left out.
func Describe(nodes []Node) (*data.Cluster, []string) {
	c := &data.Cluster{}
	var warnings []string
	for _, n := range nodes {
		node, left := describe(n)
		c.Nodes = append(c.Nodes, node)
		warnings = append(warnings, left...)
	}
	return c, warnings
}

// describe converts one node, and returns a warning for each kind of GPU left out.
func describe(n Node) (node data.Node, left []string) {
	node = data.Node{Name: n.Name, GPUType: "cpu", GPUs: n.CPUs, CPUs: float64(n.CPUs), Memory: n.Memory, Drained: !n.Usable()}
	typed := false
	for _, g := range n.GRES {
		switch {
		case g.Name != "gpu" || g.Count == 0:
			continue
		case !typed:
			typed = true
			if node.GPUType, node.GPUs = data.GPUTypeOf(g.Type), g.Count; g.Type != node.GPUType {
				node.GPUName = g.Type
			}
			if g.Type == "" {
				node.GPUType = "gpu"
			}
		case data.GPUTypeOf(g.Type) == node.GPUType:
			node.GPUs += g.Count
		default:
			left = append(left, fmt.Sprintf("node %s: %s of type %s left out: a node of cluster.yaml has one type of GPU, here %s", n.Name, english.Plural(g.Count, "GPU", ""), g.Type, node.GPUType))
		}
	}
	return node, left
}
