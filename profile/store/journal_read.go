package store

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/data"
)

// reader reads the lines of a journal, and checks each.
type reader struct {
	path  string
	study studyMark
	any   bool // the journal may be of another study
	space map[string]bool

	kept    []byte   // the valid lines, each with its line feed
	damage  []string // the reason for each damaged line
	first   int      // number of the first damaged line
	outside int      // number of configurations outside the space

	begun    bool   // the first line has been read
	unread   string // the first line, if it cannot be read
	seals    bool   // all further lines must have a checksum
	run      int
	last     int
	results  map[int]Result
	running  map[int]*Unfinished
	warnings []string
}

func newReader(path string, s *data.Study, candidates []data.Config) *reader {
	r := &reader{path: path, study: markOf(s), run: 1, results: map[int]Result{}, running: map[int]*Unfinished{}}
	if len(candidates) > 0 {
		r.space = map[string]bool{}
		for _, c := range candidates {
			r.space[c.Key()] = true
		}
	}
	return r
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// read reads a journal. The error says that it is none, or of another study.
func (r *reader) read(text []byte) error {
	whole := bytes.HasSuffix(text, []byte("\n"))
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(text) == 0 {
		return nil
	}
	for i, line := range lines {
		cut := !whole && i == len(lines)-1
		if err := r.line(line, i+1, cut); err != nil {
			return err
		}
	}
	return nil
}

// line reads one line of the file; cut says that it has no line feed.
func (r *reader) line(line []byte, number int, cut bool) error {
	parts := [][]byte{line}
	if has, right := sealed(line, r.study); !has || !right {
		parts = pieces(line)
	}
	for i, part := range parts {
		what, err := r.part(part, number)
		switch {
		case err != nil:
			return err
		case what == "":
			r.kept = append(append(r.kept, part...), '\n')
		case cut && i == len(parts)-1 && r.begun:
			return nil // a crash while it was written
		default:
			r.damaged(number, what)
		}
	}
	if len(parts) > 1 {
		r.damaged(number, "a line feed was missing")
	}
	return nil
}

func (r *reader) damaged(number int, what string) {
	if len(r.damage) == 0 {
		r.first = number
	}
	r.damage = append(r.damage, what)
}

// part reads one entry. what is the reason if it is left out.
func (r *reader) part(line []byte, number int) (what string, err error) {
	e, err := unseal(line)
	if !r.begun && err == nil && e.Event == "study" {
		return r.head(line, e, number)
	}
	has, right := sealed(line, r.study)
	switch {
	case !r.begun && !right:
		if number > 1 || err == nil {
			return "", &data.InputError{Source: data.Source{File: r.path, Line: 1}, Found: fmt.Sprintf("%.60q", cmp.Or(r.unread, string(line))),
				Want: "a first line that names the study; if this is no journal, move it away"}
		}
		r.unread = string(line)
		return "the line that names the study cannot be read", nil
	case has && !right:
		return r.whose(e, err), nil
	case !has && r.seals:
		return "a line has no checksum", nil
	case err != nil:
		return strings.TrimPrefix(err.Error(), "json: "), nil
	}
	r.seals = r.seals || has
	r.mustBegin()
	return r.event(e, data.Source{File: r.path, Line: number}), nil
}

func (r *reader) head(line []byte, e entry, number int) (what string, err error) {
	at := data.Source{File: r.path, Line: number}
	if e.Version > journalVersion || e.Study == nil {
		return "", &data.InputError{Source: at, Found: fmt.Sprintf("journal version %d", e.Version),
			Want: fmt.Sprintf("at most %d, the newest this knee reads", journalVersion)}
	}
	has, right := sealed(line, *e.Study)
	if has && !right || !has && e.Version >= 3 {
		return "the line that names the study does not match its checksum", nil
	}
	if found, want := e.Study.difference(r.study); found != "" && !r.any {
		return "", &data.InputError{Source: at, Found: found, Want: want + "; for a changed job use --restart, or another --dir"}
	}
	r.study, r.run, r.begun, r.seals = *e.Study, max(e.Run, 1), true, has
	return "", nil
}

// mustBegin replaces a damaged first line: later checksums show that the study is this.
func (r *reader) mustBegin() {
	if r.begun {
		return
	}
	r.begun = true
	if line, err := seal(entry{Event: "study", Version: journalVersion, Run: r.run, Study: &r.study}, r.study); err == nil {
		r.kept = append(append(line, '\n'), r.kept...)
	}
}

func (r *reader) whose(e entry, err error) string {
	c := e.Config
	if e.Measurement != nil {
		c = &e.Measurement.Config
	}
	if err == nil && c != nil && c.Job != r.study.Job {
		return fmt.Sprintf("a line is of job %q", c.Job)
	}
	return "a line does not match its checksum"
}

// event applies a valid entry; what is the reason if it is left out.
func (r *reader) event(e entry, at data.Source) (what string) {
	if wrong := e.problem(r.study.Job); wrong != "" {
		return wrong
	}
	_, ended := r.results[e.Trial]
	u := r.running[e.Trial]
	switch {
	case e.Event == "end" && ended:
		return fmt.Sprintf("trial %d ends twice, the first counts", e.Trial)
	case e.Event == "start" && (u != nil || ended):
		return fmt.Sprintf("trial %d begins twice", e.Trial)
	case e.Event == "submitted" && u == nil:
		return fmt.Sprintf("trial %d had been submitted but not begun", e.Trial)
	}
	switch e.Event {
	case "start":
		r.running[e.Trial] = &Unfinished{Trial: e.Trial, Attempt: 1, Config: *e.Config}
		r.place(*e.Config)
	case "submitted":
		u.Attempt, u.Handle = e.Attempt, e.Handle
	case "end":
		if u == nil {
			r.place(e.Measurement.Config) // if its start line was damaged
		}
		delete(r.running, e.Trial)
		r.results[e.Trial] = e.result(at)
	}
	r.last = max(r.last, e.Trial)
	return ""
}

// place counts configurations outside the study's space.
func (r *reader) place(c data.Config) {
	if r.space != nil && !r.space[c.Key()] {
		r.outside++
	}
}

func (r *reader) said() string {
	n := len(r.damage)
	if n == 0 {
		return "it holds nothing that can be read"
	}
	if n == 1 {
		return fmt.Sprintf("line %d is damaged and left out or repaired: %s", r.first, r.damage[0])
	}
	return fmt.Sprintf("%d places are damaged and left out or repaired, the first at line %d: %s", n, r.first, r.damage[0])
}

func (r *reader) snapshot() *Snapshot {
	s := &Snapshot{Run: r.run, Results: ByNumber(r.results)}
	for _, id := range slices.Sorted(maps.Keys(r.running)) {
		switch u := r.running[id]; {
		case u.Handle != "":
			s.Submitted = append(s.Submitted, *u)
		case r.space == nil || r.space[u.Config.Key()]:
			s.Interrupted = append(s.Interrupted, u.Config)
		}
	}
	if r.outside > 0 {
		r.warn("%s: %d trials are outside the study's space; their measurements are kept", r.path, r.outside)
	}
	s.Warnings = r.warnings
	return s
}

// ByNumber returns results in the order of their trials.
func ByNumber(results map[int]Result) []Result {
	return slices.SortedFunc(maps.Values(results), func(a, b Result) int { return cmp.Compare(a.Trial, b.Trial) })
}
