package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"knee/data"
)

// journalVersion is the version of the journals this package writes, and
// the newest it reads. Version 2 added the event submitted.
const journalVersion = 2

// Journal is the append-only record of a study: one JSON object a line,
// written through to the disk before anything relies on it. Whatever happens
// to the process, at most the trials in flight are lost.
//
// A line that was cut short by a crash can only be the last; it is removed
// when the journal is opened again.
type Journal struct {
	mu     sync.Mutex
	file   *os.File
	path   string
	end    int64        // where the last whole line ends
	last   int          // the largest trial number given out
	orphan []Unfinished // trials of earlier runs that an engine may still run
}

var _ Storage = (*Journal)(nil)

// errLocked says that another process has the lock of a file.
var errLocked = errors.New("another process has the lock")

// entry is one line of the journal.
type entry struct {
	Event       string            `json:"event"` // study, start, submitted, end
	Version     int               `json:"version,omitempty"`
	Study       *studyMark        `json:"study,omitempty"`
	Trial       int               `json:"trial,omitempty"`
	Attempt     int               `json:"attempt,omitempty"`
	Handle      string            `json:"handle,omitempty"` // of an engine
	Config      *data.Config      `json:"config,omitempty"`
	At          time.Time         `json:"at,omitzero"`
	Measurement *data.Measurement `json:"measurement,omitempty"`
	Curve       []curveEntry      `json:"curve,omitempty"`
	Queued      float64           `json:"queued_s,omitempty"` // waiting for nodes, not in wall_s

	// In what a shared storage could not take, for whom it is to be recorded:
	// the storage, the study in it, the profiler, and goptuna's trial.
	Storage string `json:"storage,omitempty"`
	StudyID int    `json:"study_id,omitempty"`
	Owner   string `json:"owner,omitempty"`
	TrialID int    `json:"trial_id,omitempty"`
}

// ending returns what an entry says that a trial came to.
func (e entry) ending(at data.Source) Ending {
	m := *e.Measurement
	m.Source = at
	return Ending{Measurement: m, Curve: decodeCurve(m.Job, e.Trial, e.Curve), Queued: time.Duration(e.Queued * float64(time.Second))}
}

// endEntry is the entry of a trial that ended.
func endEntry(trial int, e Ending) entry {
	return entry{Event: "end", Trial: trial, Measurement: &e.Measurement, Curve: encodeCurve(e.Curve), Queued: e.Queued.Seconds()}
}

// studyMark is what must not change between the runs of one study: with
// another command the old measurements would be of something else. The space
// and the budget may grow.
type studyMark struct {
	Job     string            `json:"job"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Initial float64           `json:"initial_batch,omitempty"`
}

// OpenJournal opens the journal at path, creating it for the study if it is
// not there, and returns what it holds. The journal is locked against other
// processes until it is closed. Errors: another process holds it, it belongs
// to another study, it is of a newer version, or a line cannot be read.
func OpenJournal(path string, s *data.Study) (*Journal, *Past, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; --dir names another folder for it", err)
		}
		return nil, nil, fmt.Errorf("open the journal: %w", err)
	}
	if err := lockJournal(f); err != nil {
		f.Close()
		return nil, nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("read the journal %s: %w", path, err)
	}
	j := &Journal{file: f, path: path}
	past, err := j.load(text, s)
	if err == nil {
		err = j.repair(int64(len(text)), past)
	}
	if err == nil && j.end == 0 {
		mark := markOf(s)
		err = j.append(entry{Event: "study", Version: journalVersion, Study: &mark})
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return j, past, nil
}

func markOf(s *data.Study) studyMark {
	return studyMark{Job: s.Job, Command: s.Command, Env: s.Env, Initial: s.Batch.Initial}
}

// load reads the lines of a journal.
func (j *Journal) load(text []byte, s *data.Study) (*Past, error) {
	past := &Past{}
	running := map[int]*Unfinished{}
	var order []int
	for line := 1; len(text) > 0; line++ {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			break // cut short: repair removes it
		}
		var e entry
		if err := json.Unmarshal(text[:i], &e); err != nil {
			return nil, &data.InputError{Source: data.Source{File: j.path, Line: line}, Found: fmt.Sprintf("%.60q", text[:i]),
				Want: fmt.Sprintf("a line of a journal (%v); move the file away to begin again", err)}
		}
		at := data.Source{File: j.path, Line: line}
		switch {
		case e.Event == "study":
			if err := checkMark(at, e, s); err != nil {
				return nil, err
			}
		case line == 1:
			return nil, &data.InputError{Source: at, Found: fmt.Sprintf("event %q", e.Event), Want: "the study a journal begins with; is this a journal?"}
		case e.Event == "start" && e.Config != nil:
			running[e.Trial] = &Unfinished{Trial: e.Trial, Attempt: 1, Config: *e.Config}
			order = append(order, e.Trial)
		case e.Event == "submitted" && running[e.Trial] != nil:
			running[e.Trial].Attempt, running[e.Trial].Handle = e.Attempt, e.Handle
		case e.Event == "end" && e.Measurement != nil:
			delete(running, e.Trial)
			past.add(e.ending(at))
		default:
			return nil, &data.InputError{Source: at, Found: fmt.Sprintf("event %q", e.Event), Want: "start, submitted or end with what it is about"}
		}
		past.LastTrial = max(past.LastTrial, e.Trial)
		j.end += int64(i + 1)
		text = text[i+1:]
	}
	for _, id := range order {
		switch u := running[id]; {
		case u == nil:
		case u.Handle != "":
			past.Submitted = append(past.Submitted, *u)
		default:
			past.Interrupted = append(past.Interrupted, u.Config)
		}
		delete(running, id) // a number that was given out twice is one trial
	}
	j.last, j.orphan = past.LastTrial, slices.Clone(past.Submitted)
	return past, nil
}

// checkMark refuses the journal of another study.
func checkMark(at data.Source, e entry, s *data.Study) error {
	if e.Version > journalVersion || e.Study == nil {
		return &data.InputError{Source: at, Found: fmt.Sprintf("journal version %d", e.Version),
			Want: fmt.Sprintf("at most %d, the newest this knee reads", journalVersion)}
	}
	is := markOf(s)
	if what, want := e.Study.difference(is); want != "" {
		return &data.InputError{Source: at, Found: what, Want: want + "; for a changed job use --restart, or another --dir"}
	}
	return nil
}

// difference returns the first thing in which two marks differ, as it was and
// as it is; empty if they do not.
func (was studyMark) difference(is studyMark) (found, want string) {
	for _, part := range []struct {
		name    string
		was, is any
	}{{"job", was.Job, is.Job}, {"command", was.Command, is.Command}, {"env", was.Env, is.Env}, {"batch.initial", was.Initial, is.Initial}} {
		old, now := onLine(part.was), onLine(part.is)
		if old != now {
			return fmt.Sprintf("measurements with %s %s", part.name, old), fmt.Sprintf("those with %s", now)
		}
	}
	return "", ""
}

// onLine writes a value of a study as JSON, readable: & and < stay as they
// are, and what is empty is the same however it is empty.
func onLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and numbers, which cannot fail
	text := strings.TrimSpace(b.String())
	if text == "null" || text == "{}" || text == "[]" {
		return "nothing"
	}
	return text
}

// repair removes a last line that a crash cut short.
func (j *Journal) repair(size int64, past *Past) error {
	if size > j.end {
		past.Warnings = append(past.Warnings, fmt.Sprintf("%s: removed a last line that an interruption had cut short (%d bytes)", j.path, size-j.end))
		if err := j.file.Truncate(j.end); err != nil {
			return fmt.Errorf("repair the journal %s: %w", j.path, err)
		}
	}
	if _, err := j.file.Seek(j.end, io.SeekStart); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	return nil
}

// endRoom is more than the end of a trial takes, its curve included.
const endRoom = 32 << 10

// Begin implements [Storage]. Without room on the disk for what the trial
// will yield it is not begun.
func (j *Journal) Begin(c data.Config) (int, error) {
	j.mu.Lock()
	trial := j.last + 1
	j.last = trial
	_, err := j.file.WriteAt(make([]byte, endRoom), j.end)
	err = errors.Join(err, j.file.Truncate(j.end))
	j.mu.Unlock()
	if err != nil {
		return 0, j.failed(err)
	}
	return trial, j.append(entry{Event: "start", Trial: trial, Config: &c, At: time.Now().UTC()})
}

// Submitted implements [Storage].
func (j *Journal) Submitted(trial, attempt int, handle string) error {
	return j.append(entry{Event: "submitted", Trial: trial, Attempt: attempt, Handle: handle, At: time.Now().UTC()})
}

// End implements [Storage]. If the disk has filled up since the trial began,
// the curve is left out; if that is not enough, the error tells what was
// measured.
func (j *Journal) End(trial int, e Ending) error {
	err := j.append(endEntry(trial, e))
	if err == nil {
		return nil
	}
	e.Curve = nil
	short := endEntry(trial, e)
	if j.append(short) == nil {
		return err
	}
	if line, bad := json.Marshal(short); bad == nil {
		err = fmt.Errorf("%w\nnot recorded: %s", err, line)
	}
	return err
}

// Adopt implements [Storage]: it hands out, once each, the trials that an
// earlier run had submitted to an engine.
func (j *Journal) Adopt() (*Unfinished, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.orphan) == 0 {
		return nil, nil
	}
	u := j.orphan[0]
	j.orphan = j.orphan[1:]
	return &u, nil
}

// News implements [Storage]: a journal has one writer.
func (j *Journal) News() ([]Change, error) { return nil, nil }

// Poll implements [Storage].
func (j *Journal) Poll() time.Duration { return 0 }

// append writes one line through to the disk. If it cannot be written whole
// (a full disk, say), what was written of it is taken back.
func (j *Journal) append(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	line = append(line, '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err = j.file.WriteAt(line, j.end); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return j.failed(errors.Join(err, j.file.Truncate(j.end)))
	}
	j.end += int64(len(line))
	return nil
}

func (j *Journal) failed(err error) error {
	return fmt.Errorf("write the journal %s: %w; what it holds is kept, mend this and run the same command again", j.path, err)
}

// Close closes the journal and gives up its lock.
func (j *Journal) Close() error { return j.file.Close() }

// setAside renames a journal to the first of NAME.old, NAME.old2, … that is
// free, so that the study begins again and no measurement is lost. One that
// another process writes stays where it is: two profiles would disturb each
// other's trials, and write the same files.
func setAside(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = lockJournal(f)
		f.Close() // before the renaming, which Windows refuses for an open file
	}
	if err == nil {
		aside := path + ".old"
		for n := 2; exists(aside); n++ {
			aside = fmt.Sprintf("%s.old%d", path, n)
		}
		err = os.Rename(path, aside)
	}
	if err != nil {
		return fmt.Errorf("set the journal aside: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lockJournal takes the lock of a journal.
func lockJournal(f *os.File) error {
	err := lockFile(f)
	if errors.Is(err, errLocked) {
		return fmt.Errorf("journal %s: another knee profile is writing it; several on one study need storage: sqlite:FILE in it", f.Name())
	}
	if err != nil {
		return fmt.Errorf("lock the journal %s: %w", f.Name(), err)
	}
	return nil
}
