package launch

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// regex reads logs by expressions with quantities as groups, each for a kind of
// line.
type regex struct {
	name    string // of a known program; empty for a study's own expression
	kinds   []*regexp.Regexp
	samples float64 // that one worker consumes per step; 0 if not known
}

// newRegex compiles an expression. Its named groups must be known quantities,
// at least one of which gives the speed.
func newRegex(expr string) (regex, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return regex{}, err
	}
	timed := false
	for _, name := range re.SubexpNames() {
		switch name {
		case "step", "step_time_s", "step_time_ms", "steps_per_s", "throughput", "worker_throughput":
			timed = true
		}
		if name != "" && !slices.Contains(data.MetricQuantities(), name) {
			return regex{}, fmt.Errorf("group %q is unknown, want one of %s", name, strings.Join(data.MetricQuantities(), ", "))
		}
	}
	if !timed {
		return regex{}, fmt.Errorf("%q has no group that tells speed; want a named group such as (?P<throughput>[0-9.]+), one of step_time_s, step_time_ms, steps_per_s, throughput, worker_throughput, step", expr)
	}
	return regex{kinds: []*regexp.Regexp{re}}, nil
}

func (r regex) Wants() string {
	if r.name != "" {
		return "lines as " + r.name + " prints them"
	}
	return fmt.Sprintf("lines that match %q", r.kinds[0])
}

func (r regex) Parse(line string) (Observation, bool, error) {
	o, found := unseen(), false
	for _, re := range r.kinds {
		m := re.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found = true
		for i, group := range re.SubexpNames() {
			if group == "" || m[i] == "" {
				continue
			}
			if err := r.group(&o, group, m[i], line); err != nil {
				return Observation{}, false, err
			}
		}
	}
	return o, found, nil
}

func (r regex) group(o *Observation, name, text, line string) error {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return fmt.Errorf("group %s of %.120q: %q is not a number", name, line, text)
	}
	switch name {
	case "step_time_ms":
		name, v = "step_time_s", v/1000
	case "steps_per_s":
		name, v = "step_time_s", 1/v
	case "worker_throughput":
		name, v = "step_time_s", r.samples/v
	}
	if math.IsInf(v, 0) || math.IsNaN(v) || v == 0 && name != "step" {
		return nil // a rate of 0, or per worker with an unknown batch, gives no time
	}
	if _, err := o.set(name, v); err != nil {
		return fmt.Errorf("%.120q: %w", line, err)
	}
	return nil
}
