package launch

import (
	"regexp"
	"slices"
	"strings"
)

// spellings are expressions for the quantities that knee reads, with the number
// as a group. Of several for one number, or one quantity, the first counts.
var spellings = []struct {
	group string
	re    *regexp.Regexp
}{
	{"step", regexp.MustCompile(`(?i)\b(?:global_?step|step|iteration|iter)\b[ =:#\]"]{0,3}([0-9]+)\b`)},
	{"loss", regexp.MustCompile(`(?i)\bloss[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"step_time_ms", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?ms/(?:step|it|iter)\b`)},
	{"step_time_s", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?s(?:ec)?/(?:step|it|iter)\b`)},
	{"step_time_ms", regexp.MustCompile(`(?i)\b(?:step|iter|iteration|batch)[ _]time[ =:]{1,3}([0-9]+(?:\.[0-9]+)?) ?ms\b`)},
	{"step_time_s", regexp.MustCompile(`(?i)\b(?:step|iter|iteration|batch)[ _]time[ =:]{1,3}([0-9]+(?:\.[0-9]+)?) ?s(?:ec|econds)?\b`)},
	{"step_time_s", regexp.MustCompile(`(?i)\b(?:step|iter|iteration|batch)_time_s(?:ec)?"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"step_time_ms", regexp.MustCompile(`(?i)\btime[ =:]{1,3}([0-9]+(?:\.[0-9]+)?) ?ms\b`)},
	{"steps_per_s", regexp.MustCompile(`(?i)\b(?:steps|iters|batches)_per_sec(?:ond)?"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"throughput", regexp.MustCompile(`(?i)\b(?:samples|examples|images|sequences)_per_sec(?:ond)?"?[ =:]{1,3}([0-9]+(?:\.[0-9]+)?)`)},
	{"steps_per_s", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?(?:steps|it|iters)/s`)},
	{"worker_throughput", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?(?:samples|examples|images|imgs?|sequences)/s(?:ec)?/(?:gpu|device|worker|chip|core)\b`)},
	{"throughput", regexp.MustCompile(`(?i)\b([0-9]+(?:\.[0-9]+)?) ?(?:samples|examples|images|imgs?|sequences)/s`)},
}

// Expression drafts a regular expression for lines like the given one, with a
// group for each quantity in a common spelling. It is empty if no part of the
// line gives a step time or a step. A rate of samples is taken as that of all
// workers: the line does not tell.
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
		parts = append(parts, regexp.QuoteMeta(line[f.at[0]:f.at[2]])+"(?P<"+f.group+">"+number+")"+regexp.QuoteMeta(line[f.at[3]:f.at[1]]))
	}
	if !timed {
		return ""
	}
	return strings.Join(parts, ".*?")
}
