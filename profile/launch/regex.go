package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// quantities lists the group names that a metrics.regex may use.
var quantities = []string{"step", "step_time_s", "step_time_ms", "sync_time_s", "throughput", "loss"}

// regex reads existing logs: named groups of one expression are quantities.
type regex struct {
	re *regexp.Regexp
}

func newRegex(expr string) (regex, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return regex{}, err
	}
	timed := false
	for _, name := range re.SubexpNames() {
		switch name {
		case "step_time_s", "step_time_ms", "throughput", "step":
			timed = true
		}
		if name != "" && !known(name) {
			return regex{}, fmt.Errorf("group %q is unknown, want one of %s", name, strings.Join(quantities, ", "))
		}
	}
	if !timed {
		return regex{}, fmt.Errorf("%q has no group that tells speed; want a named group such as (?P<throughput>[0-9.]+), one of step_time_s, step_time_ms, throughput, step", expr)
	}
	return regex{re}, nil
}

func known(name string) bool {
	for _, q := range quantities {
		if q == name {
			return true
		}
	}
	return false
}

// Wants implements Parser.
func (r regex) Wants() string { return fmt.Sprintf("lines that match %q", r.re) }

// Parse implements Parser.
func (r regex) Parse(line string) (Observation, bool, error) {
	m := r.re.FindStringSubmatch(line)
	if m == nil {
		return Observation{}, false, nil
	}
	o := unseen()
	for i, name := range r.re.SubexpNames() {
		if name == "" || m[i] == "" {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(m[i], ",", ""), 64)
		if err != nil {
			return Observation{}, false, fmt.Errorf("group %s of %.120q: %q is not a number", name, line, m[i])
		}
		switch name {
		case "step":
			o.Step = v
		case "step_time_s":
			o.StepTime = v
		case "step_time_ms":
			o.StepTime = v / 1000
		case "sync_time_s":
			o.SyncTime = v
		case "throughput":
			o.Throughput = v
		case "loss":
			o.Loss = v
		}
	}
	return o, true, nil
}
