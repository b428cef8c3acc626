package launch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// Parser reads output by lines: knee's, or those that expressions match.
type Parser struct {
	kinds   []*regexp.Regexp // of lines, with quantities as groups; none for knee's lines
	program string           // known to print such lines; empty for a study's own expression
	samples float64          // that one worker consumes per step; 0 if not known
	batches bool             // lines count micro-steps, not optimizer steps
	micro   float64          // micro-steps of an optimizer step; 0 if not known
	memory  bool             // lines that report memory are read too
}

// Parse returns the observation in a line, of a step, of memory or that memory ran out; ok
// is false for any other. An error: it cannot be read; [Firsts] excuses one.
func (p Parser) Parse(line string) (o Observation, ok bool, err error) {
	if o, ok, err = p.reported(line); err != nil || ok && o.OfStep() || !SpeaksOfMemory(line) {
		return o, ok, err
	}
	if !ok {
		o = unseen()
	}
	o.OutOfMemory = oneLine(line)
	return o, true, nil
}

// ofRank matches what knee and torchrun put before the lines of a rank.
var ofRank = regexp.MustCompile(`^\[(?:worker |rank ?|default)(\d{1,9})\]`)

// reported is Parse without lines that say that memory ran out.
func (p Parser) reported(line string) (o Observation, ok bool, err error) {
	if strings.IndexByte(line, 0x1b) >= 0 {
		line = escapes.ReplaceAllString(line, "")
	}
	if len(p.kinds) == 0 {
		o, ok, err = p.parseOwn(line)
	} else {
		o, ok, err = p.match(line)
	}
	if mark := ofRank.FindStringSubmatch(line); ok && mark != nil && o.Rank == UnknownRank {
		o.Rank, _ = strconv.Atoi(mark[1])
	}
	if own := ok && len(p.kinds) == 0; err != nil || !p.memory || own || o.PeakMemory > 0 {
		return o, ok, err
	}
	peak, device := memoryIn(line)
	if peak == 0 && device == 0 {
		return o, ok, nil
	}
	if !ok {
		o = unseen()
	}
	o.PeakMemory, o.DeviceMemory = max(o.PeakMemory, peak), max(o.DeviceMemory, device)
	return o, true, nil
}

// escapes are the control sequences of terminals (ECMA-48, section 5.4).
var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// Wants describes, for error messages, the lines it looks for.
func (p Parser) Wants() string {
	switch {
	case len(p.kinds) == 0:
		return `lines such as 'knee: {"step":1,"step_time_s":0.04,"loss":2.1}', or metrics: {regex: …} for what it prints instead`
	case p.program != "":
		return "lines as " + p.program + " prints them"
	}
	return fmt.Sprintf("lines that match %q", p.kinds[0])
}

// NewParser returns the parser of a study. The error is an [*data.InputError].
func NewParser(m data.Metrics) (Parser, error) {
	switch {
	case m.Pattern != "":
		i := slices.IndexFunc(data.Patterns(), func(p data.Pattern) bool { return p.Name == m.Pattern })
		if i < 0 {
			return Parser{}, data.Invalid("metrics.pattern", strconv.Quote(m.Pattern), "one of "+strings.Join(data.MetricPatterns(), ", "))
		}
		return Parser{program: m.Pattern, kinds: data.Patterns()[i].Lines, batches: data.Patterns()[i].Batches}, nil
	case m.Regex == "":
		return Parser{}, nil
	}
	re, err := data.Expression(m.Regex)
	return Parser{kinds: []*regexp.Regexp{re}}, err
}

// oddRate is a time or rate that is NaN or infinite. The rest of its line is read.
type oddRate struct{ error }

func (o oddRate) Unwrap() error { return o.error }

// Firsts counts the observations of every rank. In the first a time or rate may be NaN or
// infinite, as of a program that divides by the time since the step before.
type Firsts struct {
	Workers int         // of the trial, one of which each line without a rank may be of
	seen    map[int]int // by rank
}

// Excuse returns what [Parser.Parse] returned, the error only if it is not excused.
func (f *Firsts) Excuse(o Observation, ok bool, err error) (Observation, bool, error) {
	var odd oddRate
	if isOdd := errors.As(err, &odd); !isOdd && !(ok && o.OfStep()) {
		return o, ok, err
	}
	if f.seen == nil {
		f.seen = map[int]int{}
	}
	f.seen[o.Rank]++
	if f.seen[o.Rank] == 1 || o.Rank == UnknownRank && f.seen[o.Rank] <= f.Workers {
		err = nil
	}
	return o, err == nil, err
}

// set stores a printed number; known is false for an unknown quantity. An invalid step, time
// or rate is an error; a loss or gradient statistic that is not finite is left out. A worker
// consumes samples per step, 0 if not known: then its rate gives no time.
func (o *Observation) set(quantity string, v, samples float64) (known bool, err error) {
	printed := v
	switch quantity {
	case "step_time_ms":
		quantity, v = "step_time_s", v/1000
	case "steps_per_s":
		quantity, v = "step_time_s", 1/v
	case "worker_throughput":
		if samples == 0 {
			return true, nil
		}
		quantity, v = "step_time_s", samples/v
	}
	bounds, to := data.Any(""), &o.Loss
	switch quantity {
	case "step":
		bounds, to = data.NonNegative("a step"), &o.Step
	case "total_steps":
		bounds, to = data.NonNegative("steps"), &o.Total
	case "step_time_s":
		bounds, to = data.PositiveSeconds(), &o.StepTime
	case "sync_time_s":
		bounds, to = data.Seconds(), &o.SyncTime
	case "throughput":
		bounds, to = data.Positive("samples/s"), &o.Throughput
	case "peak_memory_bytes":
		bounds, to = data.Positive("bytes"), &o.PeakMemory
	case "loss":
	case "grad_sqr":
		to = &o.GradSqr
	case "grad_var":
		to = &o.GradVar
	default:
		return false, nil
	}
	switch {
	case bounds.Holds(v):
		*to = v
	case to != &o.Loss && to != &o.GradSqr && to != &o.GradVar:
		err = data.Invalid(quantity, v, bounds.Instead(strconv.FormatFloat(v, 'g', -1, 64)))
		if (v-v != 0 || printed-printed != 0) && quantity != "step" {
			o.odd, err = cmp.Or(o.odd, error(oddRate{err})), nil
		}
	}
	return true, err
}

// ParserFor is the parser for a trial of c, which also reads lines about memory.
func ParserFor(p Parser, c data.Config) Parser {
	p.micro, p.memory = float64(c.AccumSteps+1), true
	p.samples = c.LocalBatch * p.micro
	return p
}

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
	if p.batches && p.micro > 1 {
		o.Step, o.Total, o.StepTime = math.Floor(o.Step/p.micro), math.Floor(o.Total/p.micro), o.StepTime*p.micro
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
	switch name {
	case "step_time_s", "step_time_ms", "steps_per_s", "throughput", "worker_throughput":
		o.Rounding = lastDigit(text) / v
	}
	return nil
}

// lastDigit returns the unit of the last digit of a decimal number such as 1.50 or 1.5e-03.
func lastDigit(text string) float64 {
	digits, power := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		digits = text[:i]
		power, _ = strconv.Atoi(text[i+1:])
	}
	_, decimals, _ := strings.Cut(digits, ".")
	return math.Pow10(power - len(decimals))
}

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
