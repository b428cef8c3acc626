package data

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/internal/hostlist"
	"knee/internal/list"
)

// yamlKind reads and writes values for which the Go type is not enough; write
// is nil if it is. read is called only if the key is present.
type yamlKind struct {
	read  func(o *object, key string) any
	write func(v reflect.Value) *yaml.Node
}

// yamlKinds are the kinds that a tag can name.
var yamlKinds = map[string]yamlKind{
	"any text": {read: func(o *object, key string) any { return o.scalar(key, "text") }},
	"gpu types": {read: func(o *object, key string) any {
		types := list.Map(o.texts(key, "a list of GPU types"), GPUTypeOf)
		if slices.ContainsFunc(types, func(t string) bool { return t == "" || !singleLine(t) }) {
			o.fail(key, "an empty or invalid name", "a list of GPU types such as [a100, t4]")
		}
		o.distinct(key, types)
		return types
	}},
	"gpu type": {read: func(o *object, key string) any { return GPUTypeOf(o.required(key, "the GPU type it runs on")) }},
	"modes": {read: func(o *object, key string) any {
		var modes []Mode
		for _, m := range o.texts(key, "a list of modes") {
			if hint, ok := oneOf(m, names(Modes())); !ok {
				o.fail(key, quote(m)+hint, "allreduce, ps-sync or ps-async")
			}
			modes = append(modes, Mode(m))
		}
		o.distinct(key, names(modes))
		return modes
	}},
	"layout": {read: func(o *object, key string) any {
		var l Layout
		v := o.scalar(key, "a part of the layout")
		if want := l.Set(key, v); v != "" && want != "" {
			o.fail(key, quote(v), want)
		}
		return *layoutColumns[layoutIndex(key)].word(&l)
	}},
	"hosts": {read: func(o *object, key string) any { return o.hosts(key) },
		write: func(v reflect.Value) *yaml.Node { return textNode(hostlist.Compress(v.Interface().([]string))) }},
	"pattern": {read: func(o *object, key string) any {
		o.text(key)
		return parsed(o, key, "a pattern such as resnet-*, where * stands for any text without a slash", func(s string) (string, error) {
			_, err := path.Match(s, "")
			return s, err
		})
	}},
	"time left": {read: func(o *object, key string) any {
		if o.isDate(key) {
			return time.Duration(0)
		}
		return o.duration(key)
	}},
	"point in time": {read: func(o *object, key string) any {
		if !o.isDate(key) {
			return time.Time{}
		}
		return o.moment(key)
	}},
	"seed": {read: func(o *object, key string) any {
		return parsed(o, key, fmt.Sprintf("a whole number from %d to %d", int64(-1<<63), int64(1<<63-1)), func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	}},
	"rank":   orWord("all", AllRanks, "all, or the number of a rank ≥ 0 (default: 0)"),
	"warmup": orWord("auto", warmupAuto, "auto or the number of steps to drop"),
	"slurm":  matching(slurmWord, wantSlurmWord),
	"namespace": matching(regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`),
		"the name of a namespace, such as team-a"),
	"placement": {read: readPlacement, write: func(v reflect.Value) *yaml.Node { return textNode(fmt.Sprint(v.Interface())) }},
	"space":     {read: readSpace},

	"gpu resource": switchable(DefaultGPUResource),
	"gpu label":    switchable(DefaultGPULabel),
}

// orWord is the kind of a count, or a word that stands for a special value.
func orWord(word string, stands int, want string) yamlKind {
	return yamlKind{read: func(o *object, key string) any {
		return parsed(o, key, want, func(s string) (int, error) {
			if s == word {
				return stands, nil
			}
			n, err := strconv.Atoi(s)
			if n < 0 || n > maxCount {
				err = errOutside
			}
			return n, err
		})
	}}
}

// matching is the kind of a text that matches form.
func matching(form *regexp.Regexp, want string) yamlKind {
	return yamlKind{read: func(o *object, key string) any {
		s := o.text(key)
		if !form.MatchString(s) && (s != "" || form != slurmWord) {
			o.fail(key, quote(s), want)
		}
		return s
	}}
}

// switchable is the kind of a qualified name, or "none" for an empty one.
func switchable(usual string) yamlKind {
	kind := matching(qualifiedName, "a name such as "+usual+", or none")
	return yamlKind{read: func(o *object, key string) any {
		if s := kind.read(o, key); s != noName {
			return s
		}
		return ""
	}}
}

// isDate reports whether a deadline is meant as a point in time, not as a duration.
func (o *object) isDate(key string) bool {
	return strings.ContainsAny(strings.TrimPrefix(o.scalar(key, "a deadline"), "-"), ":-")
}

func (o *object) hosts(key string) []string {
	const want = `node names: a host list such as "a[01-04]", or a list`
	n := o.get(key)
	lists := []string{n.Value}
	if n.Kind != yaml.ScalarNode {
		lists = o.texts(key, want)
	}
	var hosts []string
	for _, list := range lists {
		names, err := hostlist.Expand(list)
		if err != nil {
			o.fail(key, err.Error(), want)
			return nil
		}
		if hosts = append(hosts, names...); len(hosts) > hostlist.MaxHosts {
			o.fail(key, fmt.Sprintf("%d names so far", len(hosts)), fmt.Sprintf("at most %d", hostlist.MaxHosts))
			return nil
		}
	}
	return hosts
}

func readPlacement(o *object, key string) any {
	const want = `workers per node, such as "4-4-2"`
	text := o.required(key, want)
	p, err := ParsePlacement(text)
	if err != nil || p.Workers() > maxCount || p.Workers() < 1 {
		o.fail(key, quote(text), want)
	}
	return p
}
