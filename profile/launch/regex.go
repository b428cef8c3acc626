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

// regex reads logs by one expression whose named groups are quantities.
type regex struct {
	re      *regexp.Regexp
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
	return regex{re: re}, nil
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
		case "step_time_ms":
			name, v = "step_time_s", v/1000
		case "steps_per_s":
			name, v = "step_time_s", 1/v
		case "worker_throughput":
			name, v = "step_time_s", r.samples/v
		}
		if math.IsInf(v, 0) || math.IsNaN(v) || v == 0 && name != "step" {
			continue // a rate of 0, or per worker with an unknown batch, gives no time
		}
		if _, err := o.set(name, v); err != nil {
			return Observation{}, false, fmt.Errorf("%.120q: %w", line, err)
		}
	}
	return o, true, nil
}

func (r regex) forTrial(c data.Config) Parser {
	r.samples = c.LocalBatch * float64(c.AccumSteps+1)
	return r
}
