package launch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// linePrefix marks the lines that training scripts print for knee.
const linePrefix = "knee:"

// notFinite matches the loss of a diverged run: no JSON, but the speed is valid.
var notFinite = regexp.MustCompile(`"([^"]*)"\s*:\s*(NaN|-?Infinity)`)

// scan reads numbers only, as nearly every line holds, without the cost of package json.
func (p Parser) scan(o *Observation, text string) (bool, error) {
	text = strings.TrimPrefix(text, "{")
	for more := true; more; {
		var key, value string
		var found bool
		if key, text, found = strings.Cut(text, ":"); !found {
			return false, nil
		}
		if value, text, more = strings.Cut(text, ","); !more {
			if value, found = strings.CutSuffix(value, "}"); !found {
				return false, nil
			}
		}
		value, key = strings.TrimSpace(value), strings.TrimSpace(key)
		v, err := strconv.ParseFloat(value, 64)
		if digits := strings.TrimPrefix(value, "-"); err != nil || digits[0] < '0' || digits[0] > '9' || strings.ContainsAny(digits, "xX_") || len(key) < 2 || key[0] != '"' {
			return false, nil
		}
		if known, err := o.set(key[1:len(key)-1], v, p.samples); !known || err != nil {
			return false, err
		}
	}
	return true, nil
}

// read reads any object. It ignores unknown keys: scripts may print more.
func (p Parser) read(o *Observation, text string) error {
	var all map[string]any
	err := json.Unmarshal([]byte(text), &all)
	if err != nil {
		for _, m := range notFinite.FindAllStringSubmatch(text, -1) {
			v, _ := strconv.ParseFloat(m[2], 64) // the expression matches numbers only
			if _, bad := o.set(m[1], v, p.samples); bad != nil {
				return bad
			}
		}
		err = json.Unmarshal(notFinite.ReplaceAll([]byte(text), []byte(`"$1":null`)), &all)
	}
	if err != nil {
		return fmt.Errorf("not an observation: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		v, number := all[key].(float64)
		if !number {
			if known, _ := new(Observation).set(key, 1, 1); (known || key == "rank") && all[key] != nil {
				found, _ := json.Marshal(all[key]) // which JSON gave
				return data.Invalid(key, string(found), "a number")
			}
			continue
		}
		if key == "rank" {
			o.Rank = max(int(v), UnknownRank)
		}
		if _, err := o.set(key, v, p.samples); err != nil {
			return err
		}
	}
	return nil
}

// isJSON reports whether a text is JSON but for numbers that are not finite.
func isJSON(text string) bool {
	return json.Valid(notFinite.ReplaceAll([]byte(text), []byte(`"$1":null`)))
}

// front returns the JSON object that a text begins with, without what another process printed
// behind it on the same line; empty if there is none, or only a brace is behind it.
func front(text string) string {
	text = notFinite.ReplaceAllString(text, `"$1":null`)
	d := json.NewDecoder(strings.NewReader(text))
	var whole json.RawMessage
	if d.Decode(&whole) != nil || strings.HasPrefix(text[d.InputOffset():], "}") {
		return ""
	}
	return string(whole)
}

// parseOwn reads `knee: {"step":12,"step_time_s":0.041,"loss":2.1}` anywhere in a line:
// launchers and logging frameworks put text before it.
func (p Parser) parseOwn(line string) (Observation, bool, error) {
	i := strings.Index(line, linePrefix)
	if i < 0 {
		return Observation{}, false, nil
	}
	text := strings.TrimSpace(line[i+len(linePrefix):])
	if !strings.HasPrefix(text, "{") {
		return Observation{}, false, nil // a message of knee's own, or prose
	}
	if strings.Contains(text, linePrefix) && !isJSON(text) {
		// Ranks may share a line: the first object will do. If one is cut, numbers may be joined.
		parts := strings.Split(text, linePrefix)
		for i, part := range parts {
			if parts[i] = part[:strings.LastIndexByte(part, '}')+1]; !isJSON(parts[i]) {
				return Observation{}, false, nil
			}
		}
		text = parts[0]
	}
	o := unseen()
	done, err := p.scan(&o, text)
	if err == nil && !done {
		o = unseen()
		if err = p.read(&o, text); err != nil {
			if whole := front(text); whole != "" {
				o = unseen()
				err = p.read(&o, whole)
			}
		}
	}
	if err = cmp.Or(err, o.odd); err != nil {
		return o, false, fmt.Errorf("%.120q: %w", text, err)
	}
	return o, true, nil
}
