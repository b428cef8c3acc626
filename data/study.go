package data

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/internal/list"
)

// Study is the contents of study.yaml: what to measure and how.
type Study struct {
	Job          string             `yaml:"job,required" want:"the name of what is trained"`
	Command      []string           `yaml:"command" want:"a list of arguments such as [python, train.py]"` // argument templates; fields of [TemplateData]
	Dir          string             `yaml:"dir"`                                                           // working directory, relative to the study file
	Env          map[string]string  `yaml:"env" want:"the name of an environment variable"`
	Space        Space              `yaml:"space" is:"space"` // in the order of the file
	Constraints  []string           `yaml:"constraints" want:"a list of expressions such as [\"workers * local_batch <= 8192\"]"`
	Objective    Objective          `yaml:"objective"`
	Metrics      Metrics            `yaml:"metrics"`
	Model        Architecture       `yaml:"model"` // size of the transformer, if the model is one
	Batch        Batch              `yaml:"batch"`
	Trial        TrialSettings      `yaml:"trial"`
	Budget       Budget             `yaml:"budget"`
	Parallel     int                `yaml:"parallel" min:"1"`                                   // trials at once; 0 means 1
	PricePerHour map[string]float64 `yaml:"price_per_hour" is:"price" of:"US$ per worker-hour"` // US$ per worker-hour, by GPU type
	Launcher     LauncherSpec       `yaml:"launcher,block"`
	Storage      string             `yaml:"storage"` // "journal" if empty
	Seed         int64              `yaml:"seed" is:"seed"`
	Source       Source
}

// Space is the search space of a study, in the order of the file.
type Space []Knob

// Knob is one dimension of the search space: a list of values, or a range.
type Knob struct {
	Name   string   // a configuration column, or any other name for an extra knob
	Values []string // explicit values, in order
	Range  *Range   // used when Values is empty
	Source Source
}

// Range is a range of numbers with its step.
type Range struct {
	Min   float64
	Max   float64
	Scale string  // "linear" (default) or "log2"
	Step  float64 // for linear; 0 means 1
}

// Objective is what the search optimises.
type Objective struct {
	Maximize string `yaml:"maximize" of:"throughput,goodput"`
	Minimize string `yaml:"minimize" of:"step_time,cost_to_target"`
	Cover    bool   // the scalar "accuracy": cover the space for an accurate fit

	// Samples is the work of the job in samples at initial-batch worth; 0 if not known.
	// Deadline is how long it may take; 0 means no limit.
	Samples  float64       `yaml:"samples" is:"positive" of:"samples at initial-batch worth"`
	Deadline time.Duration `yaml:"deadline"`

	// At restricts the configurations to find the best of, and Measure those of trials: by knob
	// a value, or a comparison such as "<= 32".
	At      map[string]string `yaml:"at" want:"the name of a knob"`
	Measure map[string]string `yaml:"measure" want:"the name of a knob"`
}

// Batch holds the batch limits for goodput, in samples over all workers.
type Batch struct {
	Initial float64 `yaml:"initial" json:"initial,omitempty" is:"samples"` // the batch that statistical efficiency is relative to
	Max     float64 `yaml:"max" json:"max,omitempty" is:"samples"`         // 0 means no limit
	Adapt   bool    `yaml:"adapt" json:"adapt,omitempty"`                  // allocation may choose another batch
}

// TrialSettings controls the measurement of one trial.
type TrialSettings struct {
	Warmup       int           `yaml:"warmup,keep" is:"warmup"`                                                        // steps to drop; −1 means decide from the data ("auto")
	MinSteps     int           `yaml:"min_steps,keep" min:"1"`                                                         // timed steps before a trial may stop early
	MaxSeconds   float64       `yaml:"max_seconds,keep" is:"positive seconds"`                                         // of timed steps, after which it stops in any case
	RelPrecision float64       `yaml:"rel_precision,keep" is:"fraction" of:"a fraction between 0 and 1, such as 0.02"` // wanted relative half-width of the 95 % interval of the step time
	Timeout      time.Duration `yaml:"timeout,keep"`                                                                   // without a new step for this long a trial is ended as hung
	Retries      int           `yaml:"retries,keep"`                                                                   // of failed trials; facts are not retried
}

// Budget ends a study. Zero means no limit.
type Budget struct {
	Trials int           `yaml:"trials" min:"1"` // failed ones included
	Cost   float64       `yaml:"cost" is:"positive" of:"US$"`
	Wall   time.Duration `yaml:"wall"` // wall-clock time
}

// Spent says which part of the budget is spent by ended and running trials; empty if none.
func (b Budget) Spent(ended []Measurement, running int, wall time.Duration) string {
	cost := list.Sum(ended, Measurement.Cost)
	trials := running + list.Count(ended, func(m Measurement) bool { return m.Status != Aborted })
	switch {
	case b.Trials > 0 && trials >= b.Trials:
		return fmt.Sprintf("the budget of %d trials is spent", b.Trials)
	case b.Cost > 0 && cost >= b.Cost:
		return fmt.Sprintf("the budget of $%.2f is spent", b.Cost)
	case b.Wall > 0 && wall >= b.Wall:
		return fmt.Sprintf("the budget of %s is spent", b.Wall)
	}
	return ""
}

// LauncherSpec says where trials run; exactly one field is set.
type LauncherSpec struct {
	Local      *LocalSpec      `yaml:"local,keep"`
	Slurm      *SlurmSpec      `yaml:"slurm,keep"`
	Kubernetes *KubernetesSpec `yaml:"kubernetes,keep,block"`
	Replay     *ReplaySpec     `yaml:"replay,keep"`
}

// LocalSpec runs the ranks of a trial as processes of this machine.
type LocalSpec struct {
	// Ranks starts the command once per worker and server, with RANK, WORLD_SIZE, … set.
	Ranks bool `yaml:"ranks"`
}

// ReplaySpec answers trials from a recorded table instead of running them.
type ReplaySpec struct {
	Table string `yaml:"table"` // measurements CSV, relative to the study file
}

const (
	warmupAuto     = -1 // TrialSettings.Warmup for "auto"
	defaultStorage = "journal"
)

// defaults give 2 % precision, well below the differences between configurations.
func (s *Study) defaults() {
	s.Objective, s.Metrics, s.Storage = Objective{Cover: true}, Metrics{JSONL: true}, defaultStorage
	s.Launcher = LauncherSpec{Local: &LocalSpec{}}
	s.Trial = TrialSettings{Warmup: warmupAuto, MinSteps: 20, MaxSeconds: 60, RelPrecision: 0.02, Timeout: 2 * time.Minute, Retries: 1}
}

// ReadStudy reads study.yaml from r, fills in the defaults and checks every
// value before any trial runs. The space keeps the order of the file.
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
	if s.Budget.Cost > 0 && !s.priced() {
		o.fail("budget", "a cost without prices", "a price_per_hour of every gpu_type of the space")
	}
	if s.Launcher.Kubernetes != nil && s.Dir != "" {
		o.fail("dir", "a folder of this machine", "no dir: pods run in their image; template.spec.containers[0].workingDir sets the folder there")
	}
	// The text is not repeated: an address may hold a password.
	if s.Storage != defaultStorage && !regexp.MustCompile(`^(sqlite:|postgres://|postgresql://|mysql://).`).MatchString(s.Storage) {
		o.fail("storage", "an unknown kind of storage", "journal, sqlite:FILE, postgres://… or mysql://…")
	}
}

// priced reports whether every GPU type of the space has a price.
func (s *Study) priced() bool {
	i := slices.IndexFunc(s.Space, func(k Knob) bool { return k.Name == "gpu_type" })
	return i >= 0 && !slices.ContainsFunc(s.Space[i].Values, func(name string) bool {
		_, known := s.PricePerHour[GPUTypeOf(name)]
		return !known
	})
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

func (g *Objective) read(o *object, key string) {
	const want = "accuracy, {maximize: throughput or goodput} or {minimize: step_time or cost_to_target}"
	n := o.get(key)
	switch {
	case n.Value == "accuracy":
		*g = Objective{Cover: true}
		return
	case n.Kind != yaml.MappingNode:
		o.fail(key, describe(n), want)
		return
	}
	*g = Objective{}
	o.section(key, n, valueOf(g))
	if (g.Maximize == "") == (g.Minimize == "") {
		o.fail(key, "a mapping without one direction", want)
	}
}

// foldGPUTypes makes A100 and a100 one type; engines get the study's spelling.
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
		s.Space[i].Values = list.Map(k.Values, GPUTypeOf)
	}
}

// keepName adds the study's spelling of a GPU type to an engine's GPUTypes.
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
