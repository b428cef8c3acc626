package data

import (
	"bytes"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v4"
)

// yamlMap collects the keys of a mapping to write, in order.
type yamlMap struct{ node *yaml.Node }

func newYAMLMap() yamlMap { return yamlMap{&yaml.Node{Kind: yaml.MappingNode}} }

// put appends a key with a value, and nothing if the value is nil.
func (m yamlMap) put(key string, v *yaml.Node) {
	if v != nil {
		m.node.Content = append(m.node.Content, textNode(key), v)
	}
}

// textNode writes text so that it reads back unchanged: all but plain words is
// quoted.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./+@=*()<> -]*$`).MatchString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// rawNode writes a scalar that needs no quotes.
func rawNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// writeYAML encodes a struct, checks the result with the reader of the format,
// and writes it to w.
func writeYAML[T any](w io.Writer, what string, from any, check func(io.Reader, string) (T, error)) error {
	text, err := yaml.Dump(mappingOf(valueOf(from)).node, yaml.WithV3Defaults(), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err == nil {
		_, err = check(bytes.NewReader(text), what)
	}
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
