package data

import (
	"regexp"
	"slices"
	"strings"
)

// Metrics says how the output of a trial is read. Exactly one of JSONL, Regex
// and Pattern is set.
type Metrics struct {
	JSONL   bool   `yaml:"jsonl"`               // lines `knee: {"step":…}`
	Regex   string `yaml:"regex" is:"any text"` // one expression with groups named as in [MetricQuantities]
	Pattern string `yaml:"pattern"`             // the log format of a known program, one of [MetricPatterns]
	Rank    int    `yaml:"rank" is:"rank"`      // whose steps are timed; or AllRanks
}

// AllRanks is the Metrics.Rank that times the steps of every rank.
const AllRanks = -1

// MetricQuantities lists the names of groups that metrics.regex may have.
func MetricQuantities() []string {
	return []string{"step", "step_time_s", "step_time_ms", "steps_per_s", "sync_time_s", "throughput", "worker_throughput", "loss"}
}

// tellsSpeed reports whether a quantity by itself gives the step time.
func tellsSpeed(quantity string) bool {
	return slices.Contains(MetricQuantities(), quantity) && quantity != "loss" && quantity != "sync_time_s"
}

// MetricPatterns lists the log formats for metrics.pattern. Package launch
// reads them.
func MetricPatterns() []string {
	return []string{"deepspeed", "horovod", "huggingface", "lightning", "megatron", "mlperf", "nemo", "pytorch-imagenet", "tf-cnn-benchmarks", "timm", "torchtitan", "torchvision", "tqdm"}
}

func (m *Metrics) validate(o *object) {
	if m.Pattern != "" {
		o.oneOf("pattern", m.Pattern, MetricPatterns())
	}
	m.JSONL = m.JSONL && (o.has("jsonl") || m.Regex == "" && m.Pattern == "")
	ways := 0
	for _, set := range []bool{m.JSONL, m.Regex != "", m.Pattern != ""} {
		if set {
			ways++
		}
	}
	if ways == 0 && o.has("rank") {
		m.JSONL, ways = true, 1
	}
	if ways != 1 {
		o.y.fail(o.line, o.path, "not exactly one way to read them", "{jsonl: true}, {regex: '…'} or {pattern: NAME}")
	}
	if m.Regex != "" {
		checkRegex(o, m.Regex)
	}
}

// checkRegex fails for expressions that do not compile or give no step time.
func checkRegex(o *object, expr string) {
	re, err := regexp.Compile(expr)
	if err != nil {
		o.fail("regex", err.Error(), "a regular expression (RE2)")
		return
	}
	useful := false
	for _, g := range re.SubexpNames() {
		if hint, ok := oneOf(g, MetricQuantities()); g != "" && !ok {
			o.fail("regex", "group "+quote(g)+hint, "groups named "+strings.Join(MetricQuantities(), ", "))
		}
		useful = useful || tellsSpeed(g)
	}
	if !useful {
		o.fail("regex", quote(expr), "a group such as (?P<step_time_s>…), (?P<throughput>…) or (?P<step>…)")
	}
}
