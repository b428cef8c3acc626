package launch

import (
	"fmt"
	"strconv"
	"strings"
)

// match reads a line by the expressions, each for a kind of line.
func (p Parser) match(line string) (Observation, bool, error) {
	o, found := unseen(), false
	for _, re := range p.kinds {
		m := re.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found = true
		for i, group := range re.SubexpNames() {
			if group == "" || m[i] == "" {
				continue
			}
			if err := p.group(&o, group, m[i], line); err != nil {
				return Observation{}, false, err
			}
		}
	}
	if o.odd != nil {
		return o, false, fmt.Errorf("%.120q: %w", line, o.odd)
	}
	return o, found, nil
}

func (p Parser) group(o *Observation, name, text, line string) error {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return fmt.Errorf("group %s of %.120q: %q is not a number", name, line, text)
	}
	if v == 0 && name != "step" {
		return nil // rounded, or a bar's before its first step
	}
	if _, err := o.set(name, v, p.samples); err != nil {
		return fmt.Errorf("%.120q: %w", line, err)
	}
	return nil
}
