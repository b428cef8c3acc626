package data

import (
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	warmupAuto     = -1 // TrialSettings.Warmup for "auto"
	defaultStorage = "journal"
)

// defaults give reliable step times in a study of a few lines: a precision of 2
// % is well below the differences between neighbouring configurations.
func (s *Study) defaults() {
	s.Objective, s.Metrics, s.Storage = Objective{Cover: true}, Metrics{JSONL: true}, defaultStorage
	s.Trial.defaults()
	s.Launcher.defaults()
}

func (t *TrialSettings) defaults() {
	*t = TrialSettings{Warmup: warmupAuto, MinSteps: 20, MaxSeconds: 60, RelPrecision: 0.02, Timeout: 2 * time.Minute, Retries: 1}
}

func (l *LauncherSpec) defaults() { *l = LauncherSpec{Local: &LocalSpec{}} }

// ReadStudy reads study.yaml from r, fills in the defaults and checks every
// value before any trial runs. The space keeps the order of the file. Unknown
// keys are errors.
//
// Defaults: objective accuracy, metrics jsonl, launcher local (one process per
// trial), storage journal, warm-up auto, at least 20 steps and at most 60 s to
// a precision of 2 %, timeout 2 min, 1 retry.
func ReadStudy(r io.Reader, name string) (*Study, error) {
	s, err := readYAML(r, name, &Study{Source: Source{File: name, Line: 1}})
	if err == nil {
		s.foldGPUTypes()
	}
	return s, err
}

func (s *Study) validate(o *object) {
	if s.Launcher.Replay == nil && (len(s.Command) == 0 || s.Command[0] == "") {
		o.fail("command", "nothing", "the command of a trial, a list such as [python, train.py]")
	}
	if len(s.Space) == 0 {
		o.fail("space", "nothing", wantSpace)
	}
	if slices.ContainsFunc(s.Constraints, func(c string) bool { return strings.TrimSpace(c) == "" }) {
		o.fail("constraints", "an empty expression", "expressions such as workers * local_batch <= 8192")
	}
	if s.Launcher.Kubernetes != nil && s.Dir != "" {
		o.fail("dir", "a folder of this machine", "no dir: pods run in their image; template.spec.containers[0].workingDir sets the folder there")
	}
	// The connection is not checked here. The message does not repeat the text: an
	// address may hold a password.
	if s.Storage != defaultStorage && !regexp.MustCompile(`^(sqlite:|postgres://|postgresql://|mysql://).`).MatchString(s.Storage) {
		o.fail("storage", "an unknown kind of storage", "journal, sqlite:FILE, postgres://… or mysql://…")
	}
}

func (b *Batch) validate(o *object) {
	if b.Max > 0 && b.Max < b.Initial {
		o.fail("max", formatFloat(b.Max), "at least the initial batch, "+formatFloat(b.Initial))
	}
}

func (l *LauncherSpec) validate(o *object) {
	set := slices.Collect(maps.Keys(o.vals))
	if len(set) == 1 && set[0] != "local" {
		l.Local = nil
	}
	if len(set) != 1 {
		found := "nothing"
		if len(set) > 1 {
			found = strings.Join(o.keys, " and ")
		}
		o.y.fail(o.line, o.path, found, "one of the launchers of this version: local, slurm, kubernetes, replay")
	}
	if l.Replay != nil && l.Replay.Table == "" {
		o.fail("replay", "no table", "{table: FILE}, the measurements to answer from")
	}
}

// readYAML reads the objective of the search; the default is accuracy.
func (g *Objective) readYAML(o *object, key string) {
	const want = "accuracy, {maximize: throughput or goodput} or {minimize: step_time or cost_to_target}"
	n := o.get(key)
	switch {
	case n == nil || n.Value == "accuracy":
		*g = Objective{Cover: true}
		return
	case n.Kind != yaml.MappingNode:
		o.fail(key, describe(n), want)
		return
	}
	type fields Objective // without this method
	var f fields
	o.section(key, n, valueOf(&f))
	if *g = Objective(f); (g.Maximize == "") == (g.Minimize == "") {
		o.fail(key, "a mapping without one direction", want)
	}
}

// foldGPUTypes converts the GPU types of a study by [GPUTypeOf]: A100 and a100
// are one type. Slurm and Kubernetes get the study's spelling.
func (s *Study) foldGPUTypes() {
	for i, k := range s.Space {
		if k.Name != "gpu_type" {
			continue
		}
		for _, name := range k.Values {
			if l := s.Launcher.Slurm; l != nil {
				l.GPUTypes = keepName(l.GPUTypes, name)
			}
			if l := s.Launcher.Kubernetes; l != nil {
				l.GPUTypes = keepName(l.GPUTypes, name)
			}
		}
		s.Space[i].Values = gpuTypes(k.Values)
	}
}

// keepName maps a GPU type to its spelling in the study, for an engine's GPUTypes.
// A name that is spelt as the type or has an entry is kept.
func keepName(names map[string]string, name string) map[string]string {
	folded := GPUTypeOf(name)
	if own, known := names[name]; known {
		delete(names, name)
		name = own
	}
	if _, known := names[folded]; known || name == folded {
		return names
	}
	if names == nil {
		names = map[string]string{}
	}
	names[folded] = name
	return names
}
