package draft

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"knee/data"
)

// file is a configuration file that a flag of a command names; see programs.yaml.
type file struct {
	Flags, Ends []string
	Program     string
}

// readFiles adds the layout in the configuration files that the command names,
// except what a flag sets. Trials cannot change it.
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

// namedIn returns the name of the file in a command, empty if there is none.
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

// valueAt returns the value at a path of keys with dots between them, nil if there is none.
func valueAt(in any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, _ := in.(map[string]any)
		in = m[key]
	}
	return in
}
