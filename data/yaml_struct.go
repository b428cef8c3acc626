package data

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"
)

// A file and its sections are structs whose fields say by tags how they are read and written:
//
//	yaml:"KEY,OPTIONS"  the key; required: it has to be there; keep: it is
//	                    written even where it has its default; block: it is
//	                    written over several lines
//	is:"KIND"           the kind of value where the Go type is not enough: one of
//	                    yamlKinds or numberKinds
//	of:"WHAT"           what a number counts, for messages; or the allowed words
//	min:"N"             the least of a whole number, 0 by default
//	want:"…"            what is wanted, for messages
//	given:"FIELD"       a bool field that is set if the key is present
//
// A missing key leaves the field at its default: its value before reading, and
// for entries of a list that of their method defaults. After reading its fields
// a struct is checked by its method validate.
type (
	defaulter interface{ defaults() }
	validator interface{ validate(o *object) }
)

// yamlField is a field of a struct with its tags.
type yamlField struct {
	index   []int
	key     string
	options string
	tag     reflect.StructTag
}

func (f yamlField) has(option string) bool { return strings.Contains(f.options, option) }

type yamlStruct struct {
	fields []yamlField
	keys   []string // in order, each once
}

// yamlStructs caches yamlStruct by type: a queue of 1000 jobs needs each 1000 times.
var yamlStructs sync.Map

// yamlOf returns the tagged fields of a struct, with those of embedded structs.
func yamlOf(t reflect.Type) yamlStruct {
	if known, ok := yamlStructs.Load(t); ok {
		return known.(yamlStruct)
	}
	var s yamlStruct
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" {
			continue
		}
		s.fields = append(s.fields, yamlField{f.Index, key, options, f.Tag})
		if !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
	}
	yamlStructs.Store(t, s)
	return s
}

func readYAML[T any](r io.Reader, name string, to *T) (*T, error) {
	if d, ok := any(to).(defaulter); ok {
		d.defaults()
	}
	y, v := &yamlReader{file: name}, valueOf(to)
	if y.root(r, yamlOf(v.Type()).keys...).into(v); y.err != nil {
		return nil, y.err
	}
	return to, nil
}

func valueOf(p any) reflect.Value { return reflect.ValueOf(p).Elem() }

func (o *object) section(key string, n *yaml.Node, v reflect.Value) {
	sub := o.y.object(n, o.sub(key), yamlOf(v.Type()).keys...)
	sub.line = o.at[key]
	sub.into(v)
}

func (o *object) into(v reflect.Value) {
	for _, f := range yamlOf(v.Type()).fields {
		f.read(o, v.FieldByIndex(f.index))
		if given := f.tag.Get("given"); given != "" {
			v.FieldByName(given).SetBool(o.get(f.key) != nil)
		}
	}
	if c, ok := v.Addr().Interface().(validator); ok {
		c.validate(o)
	}
}

func (f yamlField) read(o *object, v reflect.Value) {
	key, want := f.key, f.tag.Get("want")
	if f.has("required") && o.get(key) == nil {
		o.fail(key, "nothing", want)
	}
	n := o.get(key)
	if n == nil {
		if v.Kind() == reflect.Pointer && o.has(key) && f.has("keep") {
			v.Set(newOf(v.Type().Elem())) // such as local: without a value
		}
		return
	}
	if kind, ok := yamlKinds[f.tag.Get("is")]; ok {
		v.Set(reflect.ValueOf(kind.read(o, key)).Convert(v.Type()))
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *string:
		if *p = o.text(key); f.has("required") && *p == "" {
			o.fail(key, "nothing", want)
		}
		if words := f.tag.Get("of"); words != "" {
			o.oneOf(key, *p, strings.Split(words, ","))
		}
	case *[]string:
		*p = o.texts(key, want)
	case *bool:
		*p = o.flag(key)
	case *int:
		*p = o.whole(key, *p, f.least())
	case *float64:
		*p = o.number(key, *p, f.bounds())
	case **int:
		n := o.whole(key, 0, f.least())
		*p = &n
	case **float64:
		v := o.number(key, 0, f.bounds())
		*p = &v
	case *int64:
		*p = parsed(o, key, "bytes ≥ 0 such as 80Gi, 1.5Ti, 512M or 1024", ParseQuantity)
	case *time.Duration:
		*p = o.duration(key)
	case *time.Time:
		*p = o.moment(key)
	case *Objective:
		p.read(o, key)
	case *map[string]string:
		*p = o.textMap(key, cmp.Or(want, "a name"))
	case *map[string]any:
		*p = o.tree(key)
	case *map[string]int:
		*p = numbersOf[int](o, key, Count(0))
	case *map[string]float64:
		*p = numbersOf[float64](o, key, f.bounds())
	default:
		f.readSections(o, n, v)
	}
}

// readSections reads a struct, a pointer to one, or a list of structs.
func (f yamlField) readSections(o *object, n *yaml.Node, v reflect.Value) {
	path := o.sub(f.key)
	switch v.Kind() {
	case reflect.Struct:
		o.section(f.key, n, v)
	case reflect.Pointer:
		v.Set(newOf(v.Type().Elem()))
		if o.section(f.key, n, v.Elem()); len(n.Content) == 0 && !f.has("keep") {
			v.SetZero()
		}
	case reflect.Slice:
		v.SetZero()
		for i, item := range o.items(f.key, f.tag.Get("want")) {
			one := newOf(v.Type().Elem()).Elem()
			at := fmt.Sprintf("%s[%d]", path, i)
			o.y.object(item, at, yamlOf(one.Type()).keys...).into(one)
			if s := one.FieldByName("Source"); s.IsValid() {
				s.Set(reflect.ValueOf(Source{o.y.file, item.Line, at}))
			}
			v.Set(reflect.Append(v, one))
			if o.y.err != nil {
				return
			}
		}
	default:
		panic("data: no way to read " + v.Type().String())
	}
}

// newOf returns a pointer to a struct with its defaults.
func newOf(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if d, ok := p.Interface().(defaulter); ok {
		d.defaults()
	}
	return p
}

// numbersOf reads a mapping from GPU types to numbers.
func numbersOf[T int | float64](o *object, key string, b Bounds) map[string]T {
	m := o.object(key)
	if len(m.keys) == 0 {
		return nil
	}
	out := map[string]T{}
	for _, k := range m.keys {
		if k == "" || !singleLine(k) {
			m.fail(k, quote(k), "the name of a GPU type")
		}
		if m.get(k) == nil {
			m.fail(k, "nothing", b.String())
		}
		out[GPUTypeOf(k)] = T(m.number(k, 0, b))
	}
	return out
}

func (f yamlField) least() int {
	n, _ := strconv.Atoi(f.tag.Get("min")) // 0 without the tag
	return n
}

// numberKinds are the kinds of numbers; of is the tag of.
var numberKinds = map[string]func(of string) Bounds{
	"samples":          func(string) Bounds { return Samples() },
	"seconds":          func(string) Bounds { return Seconds() },
	"positive seconds": func(string) Bounds { return PositiveSeconds() },
	"bytes":            func(string) Bounds { return Bytes() },
	"price":            price,
	"positive":         Positive,
	"not negative":     NonNegative,
	"any":              Any,
	"fraction":         func(of string) Bounds { return Bounds{Want: of, Min: 1e-9, Max: 1 - 1e-9} },
	"share":            func(of string) Bounds { return Bounds{Want: of, Max: 1} },
	"part":             func(of string) Bounds { return Bounds{Want: of, Min: 1e-9, Max: 1} },
	"up to": func(of string) Bounds {
		most, _ := strconv.ParseFloat(of, 64)
		return Bounds{Want: "a number from 0 to " + of + ", or nothing", Max: most}
	},
}

func (f yamlField) bounds() Bounds { return numberKinds[f.tag.Get("is")](f.tag.Get("of")) }

// mappingOf writes a struct without fields that are empty or have their defaults.
func mappingOf(v reflect.Value) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	absent := newOf(v.Type()).Elem()
	for _, f := range yamlOf(v.Type()).fields {
		field, given := v.FieldByIndex(f.index), f.tag.Get("given")
		empty := field.IsZero() || (field.Kind() == reflect.Slice || field.Kind() == reflect.Map) && field.Len() == 0
		keep := given != "" && v.FieldByName(given).Bool() || f.has("keep") && !(field.Kind() == reflect.Pointer && field.IsNil())
		if keep || !empty && !reflect.DeepEqual(field.Interface(), absent.FieldByIndex(f.index).Interface()) {
			put(m, f.key, f.write(field))
		}
	}
	return m
}

func (f yamlField) write(v reflect.Value) *yaml.Node {
	if kind, ok := yamlKinds[f.tag.Get("is")]; ok && kind.write != nil {
		return kind.write(v)
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return rawNode(FormatDuration(x))
	case time.Time:
		return rawNode(x.Format(time.RFC3339Nano))
	case int64:
		return rawNode(FormatQuantity(x))
	case map[string]any:
		var n yaml.Node
		_ = n.Encode(x) // cannot fail for values read from YAML
		return &n
	case map[string]string:
		m := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			put(m, k, textNode(x[k]))
		}
		return m
	}
	switch v.Kind() {
	case reflect.String:
		return textNode(v.String())
	case reflect.Float64:
		return rawNode(numberText(v.Float()))
	case reflect.Pointer:
		return f.write(v.Elem())
	case reflect.Struct:
		return f.styled(mappingOf(v))
	case reflect.Slice:
		return f.list(v)
	case reflect.Map: // map[string] of a number
		m := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			put(m, k.String(), rawNode(fmt.Sprint(v.MapIndex(k))))
		}
		return f.styled(m)
	}
	return rawNode(fmt.Sprint(v.Interface()))
}

// list writes texts on one line, structs on one each unless the field is block.
func (f yamlField) list(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if v.Len() == 0 || v.Type().Elem().Kind() == reflect.String {
		n.Style = yaml.FlowStyle
	}
	for i := range v.Len() {
		n.Content = append(n.Content, f.write(v.Index(i)))
	}
	return n
}

// styled puts a mapping on one line unless the field is block.
func (f yamlField) styled(m *yaml.Node) *yaml.Node {
	if !f.has("block") {
		m.Style = yaml.FlowStyle
	}
	return m
}

func put(mapping *yaml.Node, key string, v *yaml.Node) {
	mapping.Content = append(mapping.Content, textNode(key), v)
}

// textNode writes text so that it reads back unchanged: quoted unless a plain word.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./+@=*()<> -]*$`).MatchString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// rawNode writes a scalar that needs no quotes.
func rawNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// writeYAML encodes a struct, checks the text with the reader of the format, and writes it.
func writeYAML[T any](w io.Writer, what string, from any, check func(io.Reader, string) (T, error)) error {
	text, err := yaml.Dump(mappingOf(valueOf(from)), yaml.WithV3Defaults(), yaml.WithIndent(2), yaml.WithLineWidth(-1))
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
