package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Node is one node of a cluster.
type Node struct {
	Name       string
	CPUs       int
	Memory     int64 // bytes
	GRES       []GRES
	States     []string // upper case: IDLE, DRAIN, …
	Partitions []string
}

// Usable reports whether jobs can be placed on the node, now or once others
// have ended.
func (n Node) Usable() bool {
	return !slices.ContainsFunc(n.States, func(s string) bool {
		switch strings.TrimRight(s, "*$~#!%@^-+") {
		case "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "INVAL", "INVALID_REG", "MAINT", "MAINTENANCE",
			"FUTURE", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWER_DOWN", "UNKNOWN":
			return true
		}
		return strings.HasSuffix(s, "*") // does not respond
	})
}

// GRES is one generic resource of a node, "gpu:a100:4".
type GRES struct {
	Name  string // "gpu"
	Type  string // "a100"; may be empty
	Count int
}

// Nodes returns the nodes of the cluster in the order of its configuration.
// It asks for JSON, which scontrol prints from Slurm 23.02 on and sinfo did
// before, and reads scontrol's plain text where there is none.
func Nodes(ctx context.Context) ([]Node, error) {
	for _, ask := range [][]string{{"scontrol", "show", "nodes", "--json"}, {"sinfo", "--json"}} {
		out, err := run(ctx, ask[0], ask[1:]...)
		if err != nil {
			if Unreachable(err) {
				return nil, err
			}
			continue // an option or a plug-in that is not there
		}
		if nodes, err := ParseNodesJSON([]byte(out)); err == nil {
			return nodes, nil
		}
	}
	out, err := run(ctx, "scontrol", "show", "node", "--oneliner")
	if err != nil {
		return nil, err
	}
	return ParseNodes(out)
}

// names reads a JSON string, a list of strings, or null: states were text in
// Slurm 22.05 and are a list since 23.02.
type names []string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = nil
		if one != "" {
			*n = names{one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}

// ParseNodesJSON reads what `sinfo --json` (22.05) and `scontrol show nodes
// --json` (23.02 and later) print.
func ParseNodesJSON(b []byte) ([]Node, error) {
	var doc struct {
		Nodes []struct {
			Name       string `json:"name"`
			CPUs       int    `json:"cpus"`
			Memory     int64  `json:"real_memory"` // MiB
			GRES       string `json:"gres"`
			State      names  `json:"state"`
			Flags      names  `json:"state_flags"`
			Partitions names  `json:"partitions"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("nodes in JSON: %w", err)
	}
	var nodes []Node
	for _, n := range doc.Nodes {
		gres, err := ParseGRES(n.GRES)
		if err != nil || n.Name == "" || n.CPUs < 0 || n.Memory < 0 || n.Memory > maxMiB {
			return nil, fmt.Errorf("nodes in JSON: node %q: %d CPUs, %d MiB, gres %q: %w", n.Name, n.CPUs, n.Memory, n.GRES, errors.Join(errNode, err))
		}
		var states []string
		for _, s := range append(n.State, n.Flags...) {
			states = append(states, strings.ToUpper(s))
		}
		nodes = append(nodes, Node{Name: n.Name, CPUs: n.CPUs, Memory: n.Memory << 20, GRES: gres, States: states, Partitions: n.Partitions})
	}
	if len(nodes) == 0 {
		return nil, errors.New("nodes in JSON: found none under the key nodes")
	}
	return nodes, nil
}

var errNode = errors.New("not the description of a node")

// maxMiB bounds the memory of a node so that bytes fit an int64.
const maxMiB = 1 << 40

// ParseNodes reads what `scontrol show node --oneliner` prints, one node a
// line.
func ParseNodes(out string) ([]Node, error) {
	var nodes []Node
	lineNo := 0
	for line := range strings.Lines(out) {
		lineNo++
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := parseNode(line)
		if err != nil {
			return nil, fmt.Errorf("scontrol show node, line %d: %w", lineNo, err)
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, errors.New("scontrol show node: found no node")
	}
	return nodes, nil
}

// parseNode reads the KEY=VALUE words of one node.
func parseNode(line string) (Node, error) {
	var n Node
	for f := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(f, "=")
		var err error
		switch key {
		case "NodeName":
			n.Name = value
		case "CPUTot":
			n.CPUs, err = strconv.Atoi(value)
		case "RealMemory":
			n.Memory, err = strconv.ParseInt(value, 10, 64)
			if n.Memory < 0 || n.Memory > maxMiB {
				err = strconv.ErrRange
			}
			n.Memory <<= 20
		case "Gres":
			n.GRES, err = ParseGRES(value)
		case "State":
			n.States = strings.Split(strings.ToUpper(value), "+")
		case "Partitions":
			n.Partitions = strings.Split(value, ",")
		}
		if err != nil {
			return Node{}, fmt.Errorf("found %.80q: %w", f, err)
		}
	}
	if n.Name == "" || n.CPUs < 0 {
		return Node{}, fmt.Errorf("found %.120q, want NodeName=… CPUTot=…", line)
	}
	return n, nil
}

// ParseGRES reads a list such as "gpu:a100:4(S:0-1),nic:2,shard:8K". A count
// that is left out is 1; K and M stand for powers of 1024.
func ParseGRES(s string) ([]GRES, error) {
	var list []GRES
	if s == "" || s == "(null)" || s == "N/A" {
		return nil, nil
	}
	for entry := range splitOutside(s) {
		entry, _, _ = strings.Cut(entry, "(") // sockets or indices
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

// splitOutside cuts a list at the commas outside parentheses.
func splitOutside(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		depth, start := 0, 0
		for i := range len(s) {
			switch s[i] {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				if depth > 0 {
					continue
				}
				if !yield(s[start:i]) {
					return
				}
				start = i + 1
			}
		}
		yield(s[start:])
	}
}

// gresCount reads "4" or "8K".
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
