package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Bounds of a file in bytes, of its values with aliases expanded, and of their depth. The
// largest real files list some thousand nodes or jobs of about ten keys each.
const (
	maxYAML      = 8 << 20
	maxYAMLNodes = 1 << 20
	maxYAMLDepth = 100
)

// yamlReader reads one YAML file into the types of this package and keeps the first error.
//
// It works on nodes instead of decoding into structs: an error has to name the line and the path
// of the key, and what was wanted there; and the order of keys matters to a study. goccy/go-yaml
// v1.19 has errors with positions, but reads trials: 2.5 as 2 and accepts NaN, loses the position
// of types with custom decoders (wall: 1d12h), names Go fields (Study.Parallel) in place of
// paths, and suggests no key for a mistyped one.
//
// Aliases are followed and mappings merged (<<): files with many similar jobs use them.
type yamlReader struct {
	file  string
	err   error
	count int // values read
}

// fail records an error at a line and key path unless there is one already.
func (y *yamlReader) fail(line int, path, found, want string) {
	if y.err == nil {
		y.err = &InputError{Source: Source{y.file, line, path}, Found: found, Want: want}
	}
}

// root parses a file of one YAML document, a mapping with the known keys.
func (y *yamlReader) root(r io.Reader, known ...string) *object {
	text, err := readDocument(r, y.file, maxYAML)
	if err != nil {
		y.err = err
		return &object{y: y}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err = dec.Decode(&doc)
	if err == io.EOF {
		y.fail(0, "", "an empty file", "the keys "+strings.Join(known, ", "))
	} else if err == nil {
		if err = dec.Decode(&more); err == nil {
			y.fail(more.Line, "", "a second YAML document", "one document")
		}
	}
	if err != nil && err != io.EOF {
		y.err = YAMLError(y.file, text, err)
	}
	if y.err != nil {
		return &object{y: y}
	}
	return y.object(y.value(doc.Content[0], 0), "", known...)
}

// value returns a node, or an alias's target, within bounds of number and depth.
func (y *yamlReader) value(n *yaml.Node, depth int) *yaml.Node {
	if y.count++; y.count > maxYAMLNodes || depth > maxYAMLDepth {
		y.fail(n.Line, "", "values nested or repeated without end", "at most 1048576 values, nested at most 100 deep")
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// pairs returns alternating keys and values: those written in a mapping, and those merged
// into it. Of equal keys the first counts, written before merged.
func (y *yamlReader) pairs(n *yaml.Node, depth int) (written, merged []*yaml.Node) {
	for i := 0; i+1 < len(n.Content) && y.err == nil; i += 2 {
		k, v := y.value(n.Content[i], depth), y.value(n.Content[i+1], depth)
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!merge" {
			written = append(written, k, v)
			continue
		}
		list := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			list = v.Content
		}
		for _, m := range list {
			if m = y.value(m, depth); m.Kind != yaml.MappingNode {
				y.fail(m.Line, "<<", describe(m), "a mapping to merge, or a list of them")
			}
			above, below := y.pairs(m, depth+1)
			merged = append(append(merged, above...), below...)
		}
	}
	return written, merged
}

// syntaxWants says, by a part of the parser's message, what is wanted in place of
// what cannot be read; %s is where the list, mapping or text begins.
var syntaxWants = []struct{ message, want string }{
	{"tab character", "blanks: YAML is not indented by tabs"},
	{"mapping values are not allowed", "one colon in a line, keys as far indented as those beside them, and quotes around a text with a colon and a blank"},
	{"expected key", "a key as far indented as those beside it, or the end of the section"},
	{"expected ',' or ']'", "a comma, or a ] that ends the list begun at %s"},
	{"expected ',' or '}'", "a comma, or a } that ends the mapping begun at %s"},
	{"expected node content", "a value, or what ends the list or mapping begun before"},
	{"expected '-' indicator", "an item that begins with a hyphen and a blank, as far indented as those before it"},
	{"unexpected end of stream", "a quote that ends the text begun at %s"},
	{"expected ':'", "a colon and a blank behind the key"},
	{"cannot start any token", "quotes around a text that begins with such a character"},
	{"unknown anchor", "the name of an anchor that stands before it"},
	{"unknown escape character", "two backslashes, or single quotes around the text"},
}

// YAMLError makes a parser's error an [*InputError] with the place where it stopped.
func YAMLError(file string, text []byte, err error) error {
	bad, ok := errors.AsType[*yaml.LoadError](err)
	if !ok || bad.Mark.Line == 0 {
		return &InputError{Source: Source{File: file}, Found: "what no YAML has (" + strings.TrimPrefix(err.Error(), "yaml: ") + ")",
			Want: "text in UTF-8 without control characters"}
	}
	mark, want := bad.Mark, "valid YAML ("+bad.Message+")"
	if strings.Contains(bad.Message, "expected ':'") {
		mark = bad.ContextMark
	}
	for _, s := range syntaxWants {
		if strings.Contains(bad.Message, s.message) {
			want = strings.Replace(s.want, "%s", fmt.Sprintf("%d:%d", bad.ContextMark.Line, bad.ContextMark.Column), 1)
		}
	}
	found := "the end of the file"
	lines := strings.Split(strings.TrimRight(string(text), "\r\n"), "\n")
	if n := len(lines); mark.Line < n || mark.Line == n && mark.Column <= utf8.RuneCountInString(lines[n-1]) {
		found = quote(strings.TrimSpace(lines[mark.Line-1]))
	}
	return &InputError{Source: Source{file, mark.Line, strconv.Itoa(mark.Column)}, Found: found, Want: want}
}

// object is a mapping. One that is absent or wrong has no keys, so that it is no special case.
type object struct {
	y    *yamlReader
	path string
	line int
	keys []string              // in the order of the file
	at   map[string]int        // line of each key
	vals map[string]*yaml.Node // nil for a key without a value
}

// object reads a mapping. Keys must be known unless known is empty.
func (y *yamlReader) object(n *yaml.Node, path string, known ...string) *object {
	if n.Kind != yaml.MappingNode {
		want := "a mapping"
		if len(known) > 0 {
			want += " with the keys " + strings.Join(known, ", ")
		}
		y.fail(n.Line, path, describe(n), want)
		return &object{y: y}
	}
	o := &object{y: y, path: path, line: n.Line, at: map[string]int{}, vals: map[string]*yaml.Node{}}
	written, merged := y.pairs(n, 0)
	all := append(written, merged...)
	for i := 0; i < len(all); i += 2 {
		k, v := all[i], all[i+1]
		if k.Kind != yaml.ScalarNode {
			y.fail(k.Line, path, describe(k), "a key")
			return o
		}
		hint, ok := oneOf(k.Value, known)
		switch _, dup := o.at[k.Value]; {
		case dup && i >= len(written):
			continue
		case dup:
			y.fail(k.Line, o.sub(k.Value), "the key twice", "each key once")
		case len(known) > 0 && !ok:
			found := "an unknown key" + hint
			if k.Value == "apiVersion" {
				found += " of a Kubernetes manifest, whose pod template goes to template: {pod: …} of jobs.yaml"
			}
			y.fail(k.Line, o.sub(k.Value), found, "one of "+strings.Join(known, ", "))
		}
		o.keys = append(o.keys, k.Value)
		o.at[k.Value] = k.Line
		if isNull(v) {
			v = nil
		}
		o.vals[k.Value] = v
	}
	return o
}

func (o *object) sub(key string) string {
	if !printable(key) {
		key = strconv.Quote(key)
	}
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (o *object) get(key string) *yaml.Node { return o.vals[key] }

func (o *object) has(key string) bool {
	_, ok := o.at[key]
	return ok
}

// fail records what is wrong with the value of a key.
func (o *object) fail(key, found, want string) {
	o.y.fail(cmp.Or(o.at[key], o.line), o.sub(key), found, want)
}

func (o *object) object(key string, known ...string) *object {
	n := o.get(key)
	if n == nil {
		return &object{y: o.y}
	}
	return o.y.object(n, o.sub(key), known...)
}

func (o *object) items(key, want string) []*yaml.Node {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.fail(key, describe(n), want)
		return nil
	}
	values := make([]*yaml.Node, 0, len(n.Content))
	for _, v := range n.Content {
		if values = append(values, o.y.value(v, 0)); o.y.err != nil {
			return nil
		}
	}
	return values
}

// scalar reads the text of a scalar, "" if there is none.
func (o *object) scalar(key, want string) string {
	n := o.get(key)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		o.fail(key, describe(n), want)
		return ""
	}
	return n.Value
}

// text reads a name: text on one line.
func (o *object) text(key string) string { return o.oneLine(key, "text") }

func (o *object) oneLine(key, want string) string {
	s := o.scalar(key, want)
	if !singleLine(s) {
		o.fail(key, quote(s), wantText)
	}
	return s
}

// required reads a name; a missing or empty one is an error.
func (o *object) required(key, want string) string {
	s := o.oneLine(key, want)
	if s == "" {
		o.fail(key, "nothing", want)
	}
	return s
}

func (o *object) texts(key, want string) []string {
	var out []string
	for _, n := range o.items(key, want) {
		if n.Kind != yaml.ScalarNode || isNull(n) {
			o.y.fail(n.Line, o.sub(key), describe(n), want)
			return nil
		}
		out = append(out, n.Value)
	}
	return out
}

// textMap reads a mapping from names to scalars, nil if it is empty.
func (o *object) textMap(key, want string) map[string]string {
	m := o.object(key)
	if len(m.keys) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, k := range m.keys {
		if k == "" || !singleLine(k) {
			m.fail(k, quote(k), want)
		}
		out[k] = m.scalar(k, want)
	}
	return out
}

// number reads a number within bounds, and absent if there is none.
func (o *object) number(key string, absent float64, b Bounds) float64 {
	s := o.scalar(key, b.String())
	if o.get(key) == nil {
		return absent
	}
	v, ok := b.Parse(s)
	if !ok {
		o.fail(key, quote(s), b.Instead(s))
		return absent
	}
	return v
}

// whole reads a whole number ≥ min, absent if there is none.
func (o *object) whole(key string, absent, min int) int {
	return int(o.number(key, float64(absent), Count(min)))
}

// parsed reads a scalar with parse, the zero value if there is none.
func parsed[T any](o *object, key, want string, parse func(string) (T, error)) (v T) {
	s := o.scalar(key, want)
	if o.get(key) == nil {
		return v
	}
	v, err := parse(s)
	if err != nil {
		o.fail(key, quote(s), want)
	}
	return v
}

var errOutside = errors.New("outside of what is wanted")

func (o *object) flag(key string) bool {
	return parsed(o, key, "true or false", func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, errOutside
		}
		return s == "true", nil
	})
}

func (o *object) duration(key string) time.Duration {
	return parsed(o, key, "a time > 0 such as 90s, 2h30m, 1d12h or plain seconds", func(s string) (time.Duration, error) {
		d, err := ParseDuration(s)
		if err == nil && d == 0 {
			err = errOutside
		}
		return d, err
	})
}

func (o *object) moment(key string) time.Time {
	return parsed(o, key, "a point in time such as 2026-05-01T12:00:00Z", func(s string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, s)
		if err == nil && t.IsZero() {
			err = errOutside
		}
		return t.UTC(), err
	})
}

// oneOf fails unless the value of a key is one of the words.
func (o *object) oneOf(key, value string, words []string) {
	if hint, ok := oneOf(value, words); !ok {
		o.fail(key, quote(value)+hint, "one of "+strings.Join(words, ", "))
	}
}

// distinct fails if the list under key has duplicates.
func (o *object) distinct(key string, values []string) {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			o.fail(key, quote(v)+" twice", "each value once")
		}
	}
}

// isNull reports whether a value was left out: "key:" or "key: null".
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	return quote(n.Value)
}
