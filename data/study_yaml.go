package data

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Defaults of a study, chosen so that a study of a few lines already gives
// trustworthy step times: two per cent is well below the spread between
// neighbouring configurations.
const (
	defaultMinSteps     = 20
	defaultMaxSeconds   = 60
	defaultRelPrecision = 0.02
	defaultTimeout      = 2 * time.Minute
	defaultRetries      = 1
	warmupAuto          = -1 // TrialSettings.Warmup for "auto"
	defaultStorage      = "journal"
)

// ReadStudy reads study.yaml from r, fills in the defaults and checks every
// value, so that a mistake costs a message and not an hour of trials. The
// space keeps the order of the file. Unknown keys are refused. The space may
// be left out only if the launcher is replay, whose table then is the space.
//
// Defaults: objective accuracy, metrics jsonl, launcher local (one process
// per trial), storage journal, warm-up auto, 20 to 60 s of steps to 2 %
// precision, timeout 2 min, 1 retry.
func ReadStudy(r io.Reader, name string) (*Study, error) {
	y := &yamlReader{file: name}
	root := y.root(r, "job", "command", "dir", "env", "space", "constraints", "objective", "metrics", "model", "batch",
		"trial", "budget", "parallel", "price_per_hour", "launcher", "storage", "seed")
	s := &Study{Source: Source{File: name, Line: 1}}
	s.Job = root.required("job", "the name of what is trained")
	s.Launcher = readLauncher(root)
	s.Command = root.texts("command", "a list of arguments such as [python, train.py]")
	if s.Launcher.Replay == nil && (len(s.Command) == 0 || s.Command[0] == "") {
		root.fail("command", "nothing", "the command of a trial, a list such as [python, train.py]")
	}
	s.Dir = root.text("dir")
	s.Env = root.textMap("env", "the name of an environment variable")
	if root.has("space") || s.Launcher.Replay == nil {
		s.Space = readSpace(root)
	}
	s.Constraints = root.texts("constraints", `a list of expressions such as ["workers * local_batch <= 8192"]`)
	if slices.ContainsFunc(s.Constraints, func(c string) bool { return strings.TrimSpace(c) == "" }) {
		root.fail("constraints", "an empty expression", "expressions such as workers * local_batch <= 8192")
	}
	s.Objective = readObjective(root)
	s.Metrics = readMetrics(root)
	s.Model = readArchitecture(root, "model")
	s.Batch = readBatch(root)
	s.Trial = readTrial(root)
	s.Budget = readBudget(root)
	s.Parallel = root.whole("parallel", 0, 1)
	s.PricePerHour = readPrices(root)
	s.Storage = readStorage(root)
	s.Seed = readSeed(root)
	if y.err != nil {
		return nil, y.err
	}
	s.foldGPUTypes()
	return s, nil
}

// foldGPUTypes writes the GPU types of a study in lower case, as they are
// everywhere: A100 and a100 are one type. Engines are still asked for a type
// by the name that the study has for it.
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
		s.Space[i].Values = lower(k.Values)
	}
}

// keepName adds the name of a GPU type to what an engine calls its types,
// unless it is in lower case already or there is another for it.
func keepName(names map[string]string, name string) map[string]string {
	folded := strings.ToLower(name)
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

// lower returns texts in lower case.
func lower(texts []string) []string {
	for i := range texts {
		texts[i] = strings.ToLower(texts[i])
	}
	return texts
}

// LoadStudy reads the study at path, as [ReadStudy] does; see [Open] for "-"
// and compressed files.
func LoadStudy(path string) (*Study, error) {
	return load(path, ReadStudy)
}

// readLauncher reads where trials run: exactly one launcher, local if none.
func readLauncher(root *object) LauncherSpec {
	const want = "one of the launchers of this version: local, slurm, kubernetes, replay"
	if !root.has("launcher") {
		return LauncherSpec{Local: &LocalSpec{}}
	}
	o := root.object("launcher")
	if o == nil || len(o.keys) != 1 {
		found := "nothing"
		if o != nil && len(o.keys) > 1 {
			found = strings.Join(o.keys, " and ")
		}
		root.fail("launcher", found, want)
		return LauncherSpec{}
	}
	switch kind := o.keys[0]; kind {
	case "local":
		return LauncherSpec{Local: &LocalSpec{Ranks: o.object(kind, "ranks").flag("ranks")}}
	case "replay":
		table := o.object(kind, "table").text("table")
		if table == "" {
			o.fail(kind, "no table", "{table: FILE}, the measurements to answer from")
		}
		return LauncherSpec{Replay: &ReplaySpec{Table: table}}
	case "slurm":
		return LauncherSpec{Slurm: readSlurm(o)}
	case "kubernetes":
		return LauncherSpec{Kubernetes: readKubernetes(root, o, kind)}
	default:
		o.fail(kind, "an unknown launcher"+didYouMean(kind, []string{"local", "slurm", "kubernetes", "replay"}), want)
	}
	return LauncherSpec{}
}

// readObjective reads what the search improves, the fit if nothing is said.
func readObjective(root *object) Objective {
	const want = "accuracy, {maximize: throughput or goodput} or {minimize: step_time or cost_to_target}"
	n := root.get("objective")
	if n == nil {
		return Objective{Cover: true}
	}
	if n.Value != "" {
		if n.Value != "accuracy" {
			root.fail("objective", quote(n.Value), want)
		}
		return Objective{Cover: true}
	}
	o := root.object("objective", "maximize", "minimize", "samples", "deadline", "at", "measure")
	if o == nil || o.has("maximize") == o.has("minimize") {
		root.fail("objective", describe(n)+" without one direction", want)
		return Objective{}
	}
	return Objective{
		Maximize: o.choice("maximize", "", "throughput", "goodput"),
		Minimize: o.choice("minimize", "", "step_time", "cost_to_target"),
		Samples:  o.number("samples", 0, Positive("samples at initial-batch worth")),
		Deadline: o.duration("deadline", 0),
		At:       o.textMap("at", "the name of a knob"),
		Measure:  o.textMap("measure", "the name of a knob"),
	}
}

// readBatch reads the batch limits of a study or a job.
func readBatch(root *object) Batch {
	o := root.object("batch", "initial", "max", "adapt")
	b := Batch{
		Initial: o.number("initial", 0, Samples()),
		Max:     o.number("max", 0, Samples()),
		Adapt:   o.flag("adapt"),
	}
	if b.Max > 0 && b.Max < b.Initial {
		o.fail("max", formatFloat(b.Max), "at least the initial batch, "+formatFloat(b.Initial))
	}
	return b
}

// readTrial reads how one trial is measured.
func readTrial(root *object) TrialSettings {
	o := root.object("trial", "warmup", "min_steps", "max_seconds", "rel_precision", "timeout", "retries")
	t := TrialSettings{
		Warmup:       warmupAuto,
		MinSteps:     o.whole("min_steps", defaultMinSteps, 1),
		MaxSeconds:   o.number("max_seconds", defaultMaxSeconds, PositiveSeconds()),
		RelPrecision: o.number("rel_precision", defaultRelPrecision, Bounds{Want: "a fraction between 0 and 1, such as 0.02", Min: 1e-9, Max: 1 - 1e-9}),
		Timeout:      o.duration("timeout", defaultTimeout),
		Retries:      o.whole("retries", defaultRetries, 0),
	}
	const wantWarmup = "auto or the number of steps to drop"
	if s := o.scalar("warmup", wantWarmup); s != "" && s != "auto" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > maxCount {
			o.fail("warmup", quote(s), wantWarmup)
		}
		t.Warmup = n
	}
	return t
}

// readBudget reads what ends a study.
func readBudget(root *object) Budget {
	o := root.object("budget", "trials", "cost", "wall")
	return Budget{
		Trials: o.whole("trials", 0, 1),
		Cost:   o.number("cost", 0, Positive("US$")),
		Wall:   o.duration("wall", 0),
	}
}

// readPrices reads US$ per worker-hour by GPU type.
func readPrices(root *object) map[string]float64 {
	o := root.object("price_per_hour")
	if o == nil || len(o.keys) == 0 {
		return nil
	}
	prices := map[string]float64{}
	for _, gpu := range o.keys {
		if gpu == "" || !singleLine(gpu) {
			o.fail(gpu, quote(gpu), "the name of a GPU type")
		}
		if o.get(gpu) == nil {
			o.fail(gpu, "nothing", price("US$ per worker-hour").String())
		}
		prices[strings.ToLower(gpu)] = o.number(gpu, 0, price("US$ per worker-hour"))
	}
	return prices
}

// readStorage reads where trials are recorded. Whether a database answers is
// for its user to find out.
func readStorage(root *object) string {
	s := root.text("storage")
	if s == "" {
		return defaultStorage
	}
	kinds := []string{"sqlite:", "postgres://", "postgresql://", "mysql://"}
	known := slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(s, k) && len(s) > len(k) })
	if s != defaultStorage && !known {
		// The text is not repeated: an address may hold a password.
		root.fail("storage", "an unknown kind of storage", "journal, sqlite:FILE, postgres://… or mysql://…")
	}
	return s
}

// readSeed reads the seed, any 64-bit integer.
func readSeed(root *object) int64 {
	s := root.scalar("seed", "a whole number")
	if s == "" {
		return 0
	}
	seed, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		root.fail("seed", quote(s), fmt.Sprintf("a whole number from %d to %d", int64(-1<<63), int64(1<<63-1)))
	}
	return seed
}
