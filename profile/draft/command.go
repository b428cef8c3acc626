package draft

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"knee/data"
)

//go:embed programs.yaml
var programText []byte

var programs = sync.OnceValue(func() (p struct {
	Flags    []flag
	Files    []file
	Formats  []format
	Starters []string
}) {
	if err := yaml.Unmarshal(programText, &p); err != nil {
		panic(err) // it is part of this package
	}
	return p
})

// flag is a flag of training scripts for a part of the configuration; see programs.yaml.
type flag struct {
	Names, Keys              []string
	Knob, Field, Bare, When  string
	Global, Launcher, Spawns bool
	Words                    map[string]string
}

// part is one value of the configuration in a command.
type part struct {
	knob   string
	field  string   // template that replaces it; may be empty
	value  float64  // as in the command
	word   string   // in place of value, for a knob of words
	words  []string // that the template can produce; word alone without a template
	global bool
	spawns bool
	fixed  bool   // from a file or a default, which a template cannot change
	arg    string // the flag as written, or the file
}

// templated replaces the parts of the configuration in a command by templates, and returns
// their values. spawns: the script may start its workers.
func templated(command []string, spawns bool) (out []string, parts []part) {
	out = append(out, command...)
	inScript := !startsRanks(command)
	for i := 0; i < len(out); i++ {
		inScript = inScript || isScript(out[i])
		name, value, joined := strings.Cut(out[i], "=")
		f, ok := flagNamed(name, joined, spawns)
		if !ok || f.Launcher && inScript {
			continue
		}
		at, own := i, joined // own: the value is this flag's
		if !joined && i+1 < len(out) {
			value, own = out[i+1], !strings.HasPrefix(out[i+1], "-")
			at++
		}
		p := part{knob: f.Knob, field: f.Field, global: f.Global, spawns: f.Spawns, arg: name}
		switch {
		case f.Bare != "" && !own:
			p.word, p.words, at = f.Bare, []string{f.Bare}, i
		case !own || !f.read(value, &p):
			continue // such as "auto"
		case f.Field != "" && slices.ContainsFunc(parts, func(q part) bool { return q.field == f.Field && q.value != p.value }):
			continue // contradicts the flag before, so that it means something else
		case f.Field != "" && joined:
			out[at] = name + "=" + f.Field
		case f.Field != "":
			out[at] = f.Field
		}
		if f.When != "" && strings.HasPrefix(name, "--") {
			p.words = append(p.words, "none")
			for k := i; k <= at; k++ {
				out[k] = "{{if " + f.When + "}}" + out[k] + "{{end}}"
			}
		}
		parts = append(parts, p)
	}
	return out, parts
}

// read reads a flag's value into p; false unless a known word or positive.
func (f flag) read(value string, p *part) bool {
	if f.Words != nil {
		p.word = f.Words[strings.TrimSuffix(strings.ToLower(value), " auto_wrap")] // which the Trainer's --fsdp may add
		if p.words = []string{p.word}; f.Field != "" {
			p.words = slices.Collect(maps.Values(f.Words))
		}
		return p.word != ""
	}
	v, err := strconv.ParseFloat(value, 64)
	p.value = v
	return err == nil && v > 0
}

// flagNamed finds the flag of --batch_size, or of data.batch_size=32 as in Hydra (joined).
func flagNamed(arg string, joined, spawns bool) (flag, bool) {
	if !strings.HasPrefix(arg, "-") && !joined {
		return flag{}, false
	}
	name := strings.ReplaceAll(strings.TrimLeft(arg, "-+"), "_", "-")
	last := name[strings.LastIndex(name, ".")+1:]
	for _, f := range programs().Flags {
		if f.Spawns && !spawns {
			continue
		}
		if slices.Contains(f.Names, name) || slices.Contains(f.Names, last) {
			return f, true
		}
	}
	return flag{}, false
}

// startsRanks reports whether a command starts its ranks, as torchrun does; else knee does.
func startsRanks(command []string) bool {
	return slices.ContainsFunc(command, func(a string) bool {
		// Lightning starts the other ranks.
		return slices.Contains(programs().Starters, a[strings.LastIndex(a, "/")+1:]) || strings.HasPrefix(a, "trainer.devices=")
	})
}

func isScript(arg string) bool { return strings.HasSuffix(arg, ".py") || strings.HasSuffix(arg, ".sh") }

// file is a configuration file that a flag of a command names; see programs.yaml.
type file struct {
	Flags, Ends []string
	Program     string
}

// readFiles adds the layout in files that the command names, except what a flag sets.
func (d *drafting) readFiles(dir string) {
	for _, f := range programs().Files {
		name := f.namedIn(d.command)
		if name == "" {
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		text, err := os.ReadFile(path)
		var content map[string]any
		if err == nil {
			if err = yaml.Unmarshal(text, &content); err != nil { // of JSON too
				err = data.YAMLError(name, text, err)
			}
		}
		if err != nil {
			d.note("%s cannot be read (%v): put its layout into the space, such as sharding: [zero2]", name, err)
		}
		before := len(d.parts)
		for _, f := range programs().Flags {
			for _, key := range f.Keys {
				p := part{knob: f.Knob, arg: name, fixed: true, global: f.Global}
				told := slices.ContainsFunc(d.parts, func(other part) bool { return other.knob == p.knob && other.global == p.global })
				if !told && f.read(fmt.Sprint(valueAt(content, key)), &p) && p.word != "none" {
					p.words = []string{p.word}
					d.parts = append(d.parts, p)
				}
			}
		}
		if len(d.parts) > before {
			d.note("trials cannot change values in %s; to vary them, let the script read KNEE_LOCAL_BATCH, KNEE_ACCUM_STEPS and KNEE_SHARDING, or take flags", name)
		}
	}
}

func (f file) namedIn(command []string) (name string) {
	for i, a := range command {
		flag, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(command) {
			value = command[i+1]
		}
		if slices.Contains(f.Flags, strings.ReplaceAll(strings.TrimLeft(flag, "-"), "_", "-")) && slices.Contains(f.Ends, filepath.Ext(value)) &&
			(f.Program == "" || slices.Contains(command, f.Program)) {
			name = value
		}
	}
	return name
}

func valueAt(in any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, _ := in.(map[string]any)
		in = m[key]
	}
	return in
}
