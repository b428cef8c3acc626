package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Source is a place in a file. The zero Source means "not read from a file".
type Source struct {
	File   string // "-" for standard input
	Line   int    // 1-based, 0 if not known
	Column string // column name of a table, key path of a document
}

// String returns "file:line:column", leaving out what is not known.
func (s Source) String() string {
	known := slices.DeleteFunc([]string{s.File, formatCount(s.Line), s.Column}, func(part string) bool { return part == "" })
	return strings.Join(known, ":")
}

// Beside resolves a path written in the file, relative to the file's folder.
func (s Source) Beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.File), path)
}

// InputError is an error in an input, with its place. Commands exit with status 2.
type InputError struct {
	Source
	Found string // may be empty
	Want  string // what was wanted
}

// Error implements error: "m.csv:17:step_time_s: found "fast", want seconds > 0".
func (e *InputError) Error() string {
	text := "want " + Visible(e.Want, 2*maxEcho)
	if e.Found != "" {
		text = "found " + Visible(e.Found, maxEcho) + ", " + text
	}
	if s := e.Source.String(); s != "" {
		text = Visible(s, maxEcho) + ": " + text
	}
	return text
}

// Invalid returns the [InputError] for a value of a field that no file gave.
func Invalid(field string, found any, want string) error {
	return &InputError{Source: Source{Column: field}, Found: fmt.Sprint(found), Want: want}
}

// maxEcho is the most characters of an input that a message repeats.
const maxEcho = 400

// Visible returns s with unprintable characters escaped as in Go, such as \x1b,
// so that a file cannot control the terminal; it is cut after most characters.
func Visible(s string, most int) string {
	if len(s) <= most && printable(s) {
		return s
	}
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > most {
			b.WriteString("…")
			break
		}
		if printable(string(c)) {
			b.WriteRune(c)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		}
	}
	return b.String()
}

// UnknownError is about a name that does not exist. Commands exit with status 2.
type UnknownError struct {
	What  string   // the kind of thing, such as "policy"
	Name  string   // what was requested
	Known []string // the valid names
	Hint  string   // appended to the message; may be empty
}

// Error implements error: `policy "best" is unknown; want one of even, fifo`.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s %q is unknown%s; want one of %s%s", e.What, e.Name, didYouMean(e.Name, e.Known), strings.Join(e.Known, ", "), e.Hint)
}

// didYouMean returns ` (did you mean "…"?)` with the [Closest] name, or nothing.
func didYouMean(name string, known []string) string {
	best := Closest(name, known)
	if best == "" {
		return ""
	}
	return ` (did you mean "` + best + `"?)`
}

// Closest returns the known name closest to a mistyped one, or that begins with it.
func Closest(name string, known []string) string {
	best, bestDist := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := editDistance(name, k); d < bestDist {
			best, bestDist = k, d
		}
	}
	if i := slices.IndexFunc(known, func(k string) bool { return len(name) > 2 && strings.HasPrefix(k, name) }); best == "" && i >= 0 {
		best = known[i]
	}
	return best
}

// editDistance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours, the most common typing error.
func editDistance(a, b string) int {
	const tooLong = 64 // longer than any known name; bounds the time
	if len(a) > tooLong || len(b) > tooLong {
		return max(len(a), len(b))
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			subst := prev[j-1]
			if a[i-1] != b[j-1] {
				subst++
			}
			cur[j] = min(subst, prev[j]+1, cur[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// oneOf reports whether name is among known, with a hint if it is not.
func oneOf(name string, known []string) (hint string, ok bool) {
	if slices.Contains(known, name) {
		return "", true
	}
	return didYouMean(name, known), false
}
