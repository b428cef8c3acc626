package launch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"knee/data"
	"knee/internal/list"
)

// HeadBytes is how much of an output is searched for the format of its lines.
const HeadBytes = 1 << 20

// Recognise finds how to read an output: knee's lines, or the pattern of a known program. If
// no line reports a step, m is what had an impossible value, or zero, and expr a draft.
func Recognise(head string) (m data.Metrics, expr string) {
	tries := append([]data.Metrics{{JSONL: true}}, list.Map(data.Patterns(), func(p data.Pattern) data.Metrics { return data.Metrics{Pattern: p.Name} })...)
	each := func(r rune) bool { return r == '\n' || r == '\r' }
	for _, try := range tries {
		p, _ := NewParser(try) // all patterns are known
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

// Unread describes what a trial printed in place of steps, in the beginning of the file log:
// the number of lines, the last, and what would read them; empty for nothing.
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
	advice := cmp.Or(hint(head), "; if such lines report steps, describe them by metrics: {regex: …} in the study")
	return fmt.Sprintf(" in %d lines such as %q%s", len(lines), oneLine(lines[len(lines)-1]), advice)
}

// spellings are expressions for the quantities that knee reads, with the number
// as a group. Of several for one number, or one quantity, the first counts.
var spellings = []struct {
	group string
	re    *regexp.Regexp
}{
	{"step", regexp.MustCompile(`(?i)\b(?:global_?step|step|iteration|iter)\b[ =:#\]"]{0,3}([0-9]+)\b`)},
	{"loss", regexp.MustCompile(`(?i)\bloss"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"step_time_ms", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?ms/(?:step|it|iter)\b`)},
	{"step_time_s", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?s(?:ec)?/(?:step|it|iter)\b`)},
	{"step_time_ms", regexp.MustCompile(`(?i)\b(?:step|iter|iteration|batch)[ _]time[ =:]{1,3}([0-9]+(?:\.[0-9]+)?) ?ms\b`)},
	{"step_time_s", regexp.MustCompile(`(?i)\b(?:step|iter|iteration|batch)[ _]time(?:_s(?:ec)?)?"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)(?: ?s(?:ec|econds)?)?\b`)},
	{"step_time_ms", regexp.MustCompile(`(?i)\b(?:time|dt)[ =:]{1,3}([0-9]+(?:\.[0-9]+)?) ?ms\b`)},
	{"steps_per_s", regexp.MustCompile(`(?i)[\w/]*\b(?:steps|iters|batches)_per_sec(?:ond)?"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"throughput", regexp.MustCompile(`(?i)[\w/]*\b(?:samples|examples|images|sequences)_per_sec(?:ond)?"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"steps_per_s", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?(?:steps|it|iters)/s`)},
	{"worker_throughput", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?(?:samples|examples|images|imgs?|sequences)/s(?:ec)?/(?:gpu|device|worker|chip|core)\b`)},
	{"throughput", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?(?:samples|examples|images|imgs?|sequences)/s`)},
}

// padding is in front of a number, more of it if the number is shorter.
var padding = regexp.MustCompile(` +$`)

// Expression drafts a regular expression for lines like the given one; empty if no part
// gives a step time or a step. A rate of samples is taken as that of all workers.
func Expression(line string) string {
	type found struct {
		group string
		at    []int // where the match and its number begin and end
	}
	var all []found
	line = escapes.ReplaceAllString(line, "")
	for _, s := range spellings {
		if at := s.re.FindStringSubmatchIndex(line); at != nil && !slices.ContainsFunc(all, func(f found) bool { return f.at[2] == at[2] || f.group == s.group }) {
			all = append(all, found{s.group, at})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return a.at[0] - b.at[0] })
	var parts []string
	timed := false
	for _, f := range all {
		timed = timed || f.group != "loss"
		number := `[0-9.]+`
		if f.group == "step" {
			number = `[0-9]+`
		}
		before := padding.ReplaceAllString(regexp.QuoteMeta(line[f.at[0]:f.at[2]]), " +")
		parts = append(parts, before+"(?P<"+f.group+">"+number+")"+regexp.QuoteMeta(line[f.at[3]:f.at[1]]))
	}
	if !timed {
		return ""
	}
	return strings.Join(parts, ".*?")
}
