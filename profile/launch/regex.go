package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// regex reads logs by expressions with quantities as groups, each for a kind of
// line.
type regex struct {
	name    string // of a known program; empty for a study's own expression
	kinds   []*regexp.Regexp
	samples float64 // that one worker consumes per step; 0 if not known
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
	if v == 0 && name != "step" {
		return nil // rounded, or a bar's before its first step
	}
	if _, err := o.set(name, v, r.samples); err != nil {
		return fmt.Errorf("%.120q: %w", line, err)
	}
	return nil
}
