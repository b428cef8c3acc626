package data

import (
	"go.yaml.in/yaml/v3"
)

// maxYAML bounds a file: its nodes take some hundred times its size.
const maxYAML = 8 << 20

// Bounds of what aliases may blow a document up to. The largest real files
// list some thousand nodes or jobs of some ten keys each.
const (
	maxYAMLNodes = 1 << 20
	maxYAMLDepth = 100
)

// expander replaces the aliases and merge keys (<<) of a document by what
// they stand for, so that the readers see neither. Files with many similar
// jobs are written with them.
type expander struct {
	y     *yamlReader
	count int
}

// expand returns a copy of n without aliases. After a failure, which the
// bounds turn cycles into, it returns n cut short.
func (e *expander) expand(n *yaml.Node, depth int) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	e.count++
	if e.count > maxYAMLNodes || depth > maxYAMLDepth {
		e.y.fail(n.Line, "", "values nested or repeated without end", "at most 1048576 values, nested at most 100 deep")
	}
	out := *n
	out.Content = nil
	if e.y.err != nil {
		if n.Kind == yaml.DocumentNode {
			out.Content = []*yaml.Node{{Kind: yaml.MappingNode}}
		}
		return &out
	}
	var merged []*yaml.Node
	for i, c := range n.Content {
		isValue := n.Kind == yaml.MappingNode && i%2 == 1
		switch {
		case isValue && isMerge(n.Content[i-1]):
			out.Content = out.Content[:len(out.Content)-1] // the key <<
			merged = append(merged, e.merged(c, depth)...)
		default:
			out.Content = append(out.Content, e.expand(c, depth+1))
		}
	}
	addMissing(&out, merged)
	return &out
}

// isMerge reports whether a key is the merge key, written plainly.
func isMerge(k *yaml.Node) bool { return k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" }

// merged returns the expanded mappings that << stands for: one or a list.
func (e *expander) merged(n *yaml.Node, depth int) []*yaml.Node {
	n = e.expand(n, depth+1)
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	for _, m := range list {
		if m.Kind != yaml.MappingNode {
			e.y.fail(m.Line, "<<", describe(m), "a mapping to merge, or a list of them")
			return nil
		}
	}
	return list
}

// addMissing appends the pairs of the merged mappings whose keys are not in
// out: what is written out wins, then what is merged first.
func addMissing(out *yaml.Node, merged []*yaml.Node) {
	if len(merged) == 0 {
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(out.Content); i += 2 {
		seen[out.Content[i].Value] = true
	}
	for _, m := range merged {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if k := m.Content[i].Value; !seen[k] {
				seen[k] = true
				out.Content = append(out.Content, m.Content[i], m.Content[i+1])
			}
		}
	}
}
