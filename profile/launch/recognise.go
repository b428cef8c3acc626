package launch

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"knee/data"
)

// HeadBytes is how much of an output is searched for the format of its lines:
// libraries may print a lot before the first step.
const HeadBytes = 1 << 20

// Recognise finds how to read an output that begins with head: knee's lines, or
// the pattern of a known program. If no line reports a step, m is what a line
// with an impossible value was printed for, or zero, and expr a drafted
// expression; see [Expression].
func Recognise(head string) (m data.Metrics, expr string) {
	tries := []data.Metrics{{JSONL: true}}
	for _, p := range data.Patterns() {
		tries = append(tries, data.Metrics{Pattern: p.Name})
	}
	each := func(r rune) bool { return r == '\n' || r == '\r' }
	for _, try := range tries {
		p, err := NewParser(try)
		if err != nil {
			continue // all patterns are known
		}
		for line := range strings.FieldsFuncSeq(head, each) {
			o, ok, err := p.Parse(line)
			if err != nil && m == (data.Metrics{}) {
				m = try
			}
			if ok && err == nil && o.OfStep() {
				return try, ""
			}
		}
	}
	for line := range strings.FieldsFuncSeq(head, each) {
		if expr = Expression(line); expr != "" {
			break
		}
	}
	return m, expr
}

// hint returns advice for the user, empty if no line of head reports steps.
func hint(head string) string {
	m, expr := Recognise(head)
	switch {
	case m.Pattern != "":
		return fmt.Sprintf("; metrics: {pattern: %s} in the study would read what it prints", m.Pattern)
	case m.JSONL:
		return "; metrics: {jsonl: true} in the study would read what it prints"
	case expr != "":
		return fmt.Sprintf("; metrics: {regex: '%s'} in the study would read what it prints: check that it reads the right numbers", expr)
	}
	return ""
}

// rankMark matches the prefix of a process' lines in the log of a trial.
var rankMark = regexp.MustCompile(`(^|[\r\n])\[(?:worker|ps) [0-9]+\] `)

// Unread describes what a trial printed in place of steps: the number of lines,
// the last one, and what would read them; empty if it printed nothing. It reads
// the beginning of the file log.
func Unread(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return "" // it has not been written yet
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, HeadBytes)) // a shorter text will do
	head := rankMark.ReplaceAllString(string(text), "$1")
	lines := strings.FieldsFunc(head, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return ""
	}
	advice := hint(head)
	if advice == "" {
		advice = "; if such lines report steps, describe them by metrics: {regex: …} in the study"
	}
	return fmt.Sprintf(" in %d lines such as %q%s", len(lines), oneLine(lines[len(lines)-1]), advice)
}
