package data

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// yamlMap collects the keys of a mapping to write, in order. The put methods
// leave out zero values, which every reader takes for "not given".
type yamlMap struct{ node *yaml.Node }

func newYAMLMap() yamlMap { return yamlMap{&yaml.Node{Kind: yaml.MappingNode}} }

// put appends a key with a value, and nothing if the value is nil.
func (m yamlMap) put(key string, v *yaml.Node) {
	if v != nil {
		m.node.Content = append(m.node.Content, textNode(key), v)
	}
}

func (m yamlMap) text(key, s string) {
	if s != "" {
		m.put(key, textNode(s))
	}
}

func (m yamlMap) texts(key string, list []string) {
	if len(list) > 0 {
		m.put(key, listNode(list))
	}
}

func (m yamlMap) number(key string, v float64) {
	if v != 0 {
		m.put(key, numberNode(v))
	}
}

func (m yamlMap) count(key string, n int) {
	if n != 0 {
		m.put(key, rawNode(strconv.Itoa(n)))
	}
}

func (m yamlMap) flag(key string, b bool) {
	if b {
		m.put(key, rawNode("true"))
	}
}

func (m yamlMap) quantity(key string, bytes int64) {
	if bytes != 0 {
		m.put(key, rawNode(FormatQuantity(bytes)))
	}
}

func (m yamlMap) duration(key string, d time.Duration) {
	if d != 0 {
		m.put(key, rawNode(FormatDuration(d)))
	}
}

func (m yamlMap) moment(key string, t time.Time) {
	if !t.IsZero() {
		m.put(key, rawNode(t.Format(time.RFC3339Nano)))
	}
}

// figure appends a number that may be zero, and nothing if it is not known.
func (m yamlMap) figure(key string, v *float64) {
	if v != nil {
		m.put(key, numberNode(*v))
	}
}

func (m yamlMap) textMap(key string, values map[string]string) {
	sub := newYAMLMap()
	for _, k := range slices.Sorted(maps.Keys(values)) {
		sub.put(k, textNode(values[k]))
	}
	m.put(key, sub.unlessEmpty())
}

// unlessEmpty returns the mapping, nil if it has no keys.
func (m yamlMap) unlessEmpty() *yaml.Node {
	if len(m.node.Content) == 0 {
		return nil
	}
	return m.node
}

// flow returns the mapping on one line, nil if it has no keys.
func (m yamlMap) flow() *yaml.Node {
	m.node.Style = yaml.FlowStyle
	return m.unlessEmpty()
}

// textNode writes text so that it reads back as it is. What could be taken
// for anything but plain words is quoted.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./+@=*()<> -]*$`).MatchString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// rawNode writes a scalar that needs no quotes.
func rawNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// numberNode writes the shortest number that reads back as v.
func numberNode(v float64) *yaml.Node { return rawNode(strconv.FormatFloat(v, 'g', -1, 64)) }

// listNode writes a list of texts on one line.
func listNode(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		n.Content = append(n.Content, textNode(s))
	}
	return n
}

// writeYAML encodes doc, has it checked by the reader of its format, since a
// writer must not produce what no reader takes, and writes it to w.
func writeYAML(w io.Writer, what string, doc yamlMap, check func(io.Reader) error) error {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc.node); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	if err := enc.Close(); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	if err := check(bytes.NewReader(b.Bytes())); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// newYAMLList returns an empty list with an entry per line.
func newYAMLList() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode} }
