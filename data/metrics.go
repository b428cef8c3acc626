package data

import (
	_ "embed"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"knee/internal/list"
)

// Metrics says how output is read: exactly one of JSONL, Regex and Pattern is set.
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
	return []string{"step", "step_time_s", "step_time_ms", "steps_per_s", "sync_time_s", "throughput", "worker_throughput", "loss", "total_steps"}
}

//go:embed patterns.txt
var patternText string

// Pattern is the log format of a program: an expression for each kind of line.
type Pattern struct {
	Name    string
	Batches bool // steps are batches, of which gradient accumulation makes an optimizer step
	Lines   []*regexp.Regexp
}

// Patterns returns the known log formats, in the order to try on a log.
func Patterns() []Pattern { return patterns() }

var patterns = sync.OnceValue(func() (all []Pattern) {
	quantity, bar := regexp.MustCompile(`\{([a-z_]+)\}`), ""
	for line := range strings.Lines(patternText) {
		name, expr, found := strings.Cut(strings.TrimSpace(line), " ")
		name, batches := strings.CutSuffix(name, "*")
		expr = strings.Replace(quantity.ReplaceAllString(expr, "(?P<$1>[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?)"), "@bar", bar, 1)
		switch {
		case !found || name == "#":
			continue
		case name == "@bar":
			bar = expr
			continue
		case len(all) == 0 || all[len(all)-1].Name != name:
			all = append(all, Pattern{Name: name, Batches: batches})
		}
		last := &all[len(all)-1]
		last.Lines = append(last.Lines, regexp.MustCompile(expr))
	}
	return all
})

// MetricPatterns lists the names of the log formats for metrics.pattern.
func MetricPatterns() []string {
	return slices.Sorted(slices.Values(list.Map(Patterns(), func(p Pattern) string { return p.Name })))
}

func (m *Metrics) validate(o *object) {
	if m.Pattern != "" {
		o.oneOf("pattern", m.Pattern, MetricPatterns())
	}
	m.JSONL = m.JSONL && (o.has("jsonl") || m.Regex == "" && m.Pattern == "")
	ways := list.Count([]bool{m.JSONL, m.Regex != "", m.Pattern != ""}, func(set bool) bool { return set })
	if ways == 0 && o.has("rank") {
		m.JSONL, ways = true, 1
	}
	if ways != 1 {
		o.y.fail(o.line, o.path, "not exactly one way to read them", "{jsonl: true}, {regex: '…'} or {pattern: NAME}")
	}
	var bad *InputError
	if _, err := Expression(m.Regex); m.Regex != "" && errors.As(err, &bad) {
		o.fail("regex", bad.Found, bad.Want)
	}
}

// Expression compiles an expression with groups of [MetricQuantities], one of which has to
// give the step time. The error is an [*InputError].
func Expression(expr string) (*regexp.Regexp, error) {
	bad := &InputError{Source: Source{Column: "metrics.regex"}, Want: "a regular expression (RE2)"}
	re, err := regexp.Compile(expr)
	if err != nil {
		bad.Found = err.Error()
		return nil, bad
	}
	useful := false
	for _, g := range re.SubexpNames() {
		if hint, ok := oneOf(g, MetricQuantities()); g != "" && !ok {
			bad.Found, bad.Want = "group "+quote(g)+hint, "groups named "+strings.Join(MetricQuantities(), ", ")
			return nil, bad
		}
		useful = useful || slices.Contains(MetricQuantities(), g) && !slices.Contains([]string{"loss", "sync_time_s", "total_steps"}, g)
	}
	if !useful {
		bad.Found, bad.Want = quote(expr), "a group such as (?P<step_time_s>…), (?P<throughput>…) or (?P<step>…)"
		return nil, bad
	}
	return re, nil
}
