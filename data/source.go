package data

import (
	"fmt"
	"path/filepath"
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
	var b strings.Builder
	b.WriteString(s.File)
	if s.Line > 0 {
		fmt.Fprintf(&b, ":%d", s.Line)
	}
	if s.Column != "" {
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		b.WriteString(s.Column)
	}
	return b.String()
}

// Beside resolves a path written in the file: relative to the file's folder
// unless absolute.
func (s Source) Beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.File), path)
}

// InputError is an error in an input, with its place. Commands exit with status
// 2 on it.
type InputError struct {
	Source
	Found string // may be empty
	Want  string // what was wanted
}

// Error implements error: "m.csv:17:step_time_s: found "fast", want seconds > 0".
func (e *InputError) Error() string {
	var b strings.Builder
	if s := e.Source.String(); s != "" {
		b.WriteString(Visible(s, maxEcho) + ": ")
	}
	if e.Found != "" {
		b.WriteString("found " + Visible(e.Found, maxEcho) + ", ")
	}
	b.WriteString("want " + Visible(e.Want, 2*maxEcho))
	return b.String()
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
