package data

import (
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// WriteStudy writes study.yaml, defaults spelled out where they say
// something about the result. A study that [ReadStudy] would refuse is an
// error.
func WriteStudy(w io.Writer, s *Study) error {
	doc := newYAMLMap()
	doc.text("job", s.Job)
	doc.texts("command", s.Command)
	doc.text("dir", s.Dir)
	doc.textMap("env", s.Env)
	doc.put("space", spaceMap(s.Space).unlessEmpty())
	doc.texts("constraints", s.Constraints)
	writeObjective(doc, s.Objective)
	metrics := newYAMLMap()
	metrics.flag("jsonl", s.Metrics.JSONL)
	metrics.text("regex", s.Metrics.Regex)
	metrics.text("pattern", s.Metrics.Pattern)
	switch {
	case s.Metrics.Rank == AllRanks:
		metrics.text("rank", "all")
	case s.Metrics.Rank > 0:
		metrics.count("rank", s.Metrics.Rank)
	}
	doc.put("metrics", metrics.flow())
	model := newYAMLMap()
	model.number("parameters", s.Model.Parameters)
	for _, c := range architectureColumns()[1:] {
		model.count(c, *s.Model.count(c))
	}
	doc.put("model", model.flow())
	doc.put("batch", batchMap(s.Batch).flow())
	doc.put("trial", trialMap(s.Trial).flow())
	budget := newYAMLMap()
	budget.count("trials", s.Budget.Trials)
	budget.number("cost", s.Budget.Cost)
	budget.duration("wall", s.Budget.Wall)
	doc.put("budget", budget.flow())
	doc.count("parallel", s.Parallel)
	prices := newYAMLMap()
	for _, gpu := range slices.Sorted(maps.Keys(s.PricePerHour)) {
		prices.put(gpu, numberNode(s.PricePerHour[gpu]))
	}
	doc.put("price_per_hour", prices.flow())
	launcher := launcherMap(s.Launcher)
	if s.Launcher.Kubernetes == nil {
		launcher.flow() // a pod template on one line is for nobody
	}
	doc.put("launcher", launcher.unlessEmpty())
	doc.text("storage", s.Storage)
	if s.Seed != 0 {
		doc.put("seed", rawNode(strconv.FormatInt(s.Seed, 10)))
	}
	return writeYAML(w, "study", doc, func(r io.Reader) error {
		_, err := ReadStudy(r, "study")
		return err
	})
}

func spaceMap(space []Knob) yamlMap {
	m := newYAMLMap()
	for _, k := range space {
		if k.Range == nil || len(k.Values) > 0 {
			m.put(k.Name, valuesNode(k.Values))
			continue
		}
		r := newYAMLMap()
		r.put("min", numberNode(k.Range.Min))
		r.put("max", numberNode(k.Range.Max))
		if k.Range.Scale != "linear" {
			r.text("scale", k.Range.Scale)
		}
		r.number("step", k.Range.Step)
		m.put(k.Name, r.flow())
	}
	return m
}

func writeObjective(doc yamlMap, o Objective) {
	m := newYAMLMap()
	m.text("maximize", o.Maximize)
	m.text("minimize", o.Minimize)
	m.number("samples", o.Samples)
	m.duration("deadline", o.Deadline)
	m.textMap("at", o.At)
	m.textMap("measure", o.Measure)
	if o.Cover && m.unlessEmpty() == nil {
		doc.text("objective", "accuracy")
		return
	}
	doc.put("objective", m.flow())
}

// batchMap returns the batch section of a study or a job.
func batchMap(b Batch) yamlMap {
	m := newYAMLMap()
	m.number("initial", b.Initial)
	m.number("max", b.Max)
	m.flag("adapt", b.Adapt)
	return m
}

// trialMap writes every setting: they decide what a measurement is worth.
func trialMap(t TrialSettings) yamlMap {
	m := newYAMLMap()
	if t == (TrialSettings{}) {
		return m // not set at all, as against no warm-up and no retries
	}
	if t.Warmup == warmupAuto {
		m.text("warmup", "auto")
	} else {
		m.put("warmup", rawNode(strconv.Itoa(t.Warmup)))
	}
	m.count("min_steps", t.MinSteps)
	m.number("max_seconds", t.MaxSeconds)
	m.number("rel_precision", t.RelPrecision)
	m.duration("timeout", t.Timeout)
	m.put("retries", rawNode(strconv.Itoa(t.Retries)))
	return m
}

func launcherMap(l LauncherSpec) yamlMap {
	m := newYAMLMap()
	if l.Local != nil {
		local := newYAMLMap()
		local.flag("ranks", l.Local.Ranks)
		local.flow()
		m.put("local", local.node)
	}
	if l.Slurm != nil {
		m.put("slurm", slurmMap(*l.Slurm).node)
	}
	if l.Replay != nil {
		replay := newYAMLMap()
		replay.text("table", l.Replay.Table)
		replay.flow()
		m.put("replay", replay.node)
	}
	if l.Kubernetes != nil {
		m.put("kubernetes", kubernetesMap(l.Kubernetes))
	}
	return m
}

// wholeNumber matches values that read the same as a number and as text.
var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)

// valuesNode writes the values of a knob: whole numbers as a person would,
// without quotes, and everything else as text.
func valuesNode(values []string) *yaml.Node {
	list := listNode(values)
	for i, v := range values {
		if wholeNumber.MatchString(v) {
			list.Content[i] = rawNode(v)
		}
	}
	return list
}
