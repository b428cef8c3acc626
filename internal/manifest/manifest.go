// Package manifest makes Kubernetes manifests from text templates.
//
// A template writes every field, with nothing behind the colon where there is no value:
// [Read] leaves such fields out. One with null is left out of the pod template too. It merges the user's pod template (tolerations, volumes,
// secrets, service account, sidecars) into every pod.
package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Read parses the documents of a rendered template, and leaves out fields without a
// value. Each of the pod templates, whose first container trains, is merged into every
// pod of the documents: fields that are there have precedence, and the command always.
func Read(text []byte, pods ...map[string]any) (documents []*yaml.Node, err error) {
	for in := yaml.NewDecoder(bytes.NewReader(text)); ; {
		tree := new(yaml.Node)
		if err := in.Decode(tree); err == io.EOF {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		prune(tree, true)
		for _, pod := range pods {
			var under yaml.Node
			text, err := json.Marshal(pod) // which is YAML, and writes whole numbers as such
			if err == nil {
				err = yaml.Unmarshal(text, &under)
			}
			if err != nil {
				return nil, err
			}
			prune(&under, false)
			fillPods(tree, under.Content[0])
		}
		prune(tree, false)
		documents = append(documents, tree)
	}
}

// prune removes fields without a value, and the quotes and braces that are not needed.
// It keeps a written null if nulls is set, and reports whether nothing is left.
func prune(n *yaml.Node, nulls bool) (empty bool) {
	n.Style = 0
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			prune(c, nulls)
		}
		return n.Tag == "!!null" && (n.Value == "" || !nulls)
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Style = 0; !prune(n.Content[i+1], nulls) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	empty = len(kept) == 0 && len(n.Content) > 0
	n.Content = kept
	return empty
}

// fillPods fills the mappings whose spec has containers.
func fillPods(n, under *yaml.Node) {
	if spec := valueOf(n, "spec"); spec != nil && valueOf(spec, "containers") != nil {
		fill(n, under)
		return
	}
	for _, c := range n.Content {
		fillPods(c, under)
	}
}

// fill adds the missing fields of a mapping from under. The first containers of two
// lists are merged; other items of under are appended unless their name or key is used.
func fill(n, under *yaml.Node) {
	for i := 0; i+1 < len(under.Content); i += 2 {
		key, theirs := under.Content[i], under.Content[i+1]
		ours := valueOf(n, key.Value)
		switch {
		case key.Value == "command" || key.Value == "args": // those of the job
		case ours == nil:
			n.Content = append(n.Content, key, theirs)
		case key.Value == "nodeSelectorTerms" && ours.Kind == yaml.SequenceNode && len(theirs.Content) > 0:
			ours.Content = both(ours.Content, theirs.Content)
		case ours.Kind == yaml.MappingNode && theirs.Kind == yaml.MappingNode:
			fill(ours, theirs)
		case ours.Kind == yaml.SequenceNode && theirs.Kind == yaml.SequenceNode:
			own, items := ours.Content, theirs.Content
			if key.Value == "containers" && len(own) > 0 && len(items) > 0 {
				fill(own[0], items[0])
				items = items[1:]
			}
			for _, item := range items {
				if !slices.ContainsFunc(own, func(o *yaml.Node) bool { return same(o, item, "name") || same(o, item, "key") }) {
					ours.Content = append(ours.Content, item)
				}
			}
		}
	}
}

// both are node selector terms, which are alternatives, that a node meets if it meets one
// of each list.
func both(a, b []*yaml.Node) (out []*yaml.Node) {
	for _, x := range a {
		for _, y := range b {
			term := &yaml.Node{Kind: yaml.MappingNode}
			for _, key := range []string{"matchExpressions", "matchFields"} {
				list := &yaml.Node{Kind: yaml.SequenceNode}
				for _, t := range []*yaml.Node{x, y} {
					if v := valueOf(t, key); v != nil {
						list.Content = append(list.Content, v.Content...)
					}
				}
				if len(list.Content) > 0 {
					term.Content = append(term.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, list)
				}
			}
			out = append(out, term)
		}
	}
	return out
}

// same reports whether two mappings have one value of a key.
func same(a, b *yaml.Node, key string) bool {
	x, y := valueOf(a, key), valueOf(b, key)
	return x != nil && y != nil && x.Value == y.Value
}

// valueOf is the value of a key of a mapping, nil if there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Quote writes text in double quotes, a list or a mapping of it in brackets, and a number
// as YAML: the escapes of Go are those of YAML.
func Quote(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.QuoteToASCII(v)
	case []string:
		var out []string
		for _, s := range v {
			out = append(out, Quote(s))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]any:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, Quote(k)+": "+Quote(v[k]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// Given is [Quote], and nothing for an empty value.
func Given(v any) string {
	if reflect.ValueOf(v).Len() == 0 {
		return ""
	}
	return Quote(v)
}
