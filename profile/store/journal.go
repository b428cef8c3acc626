package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"knee/data"
	"knee/internal/filelock"
	"knee/internal/list"
)

// journalVersion is written, the newest to be read; 2 added submitted, 3 checksums.
const journalVersion = 3

// Journal is the append-only record of a study: a JSON object per line, with a checksum,
// synced before a method returns. If the process dies, only running trials are lost.
type Journal struct {
	mu       sync.Mutex
	file     *os.File
	path     string
	study    studyMark
	end      int64        // where the last whole line ends
	last     int          // the largest trial number given out
	orphans  []Unfinished // trials of earlier runs that an engine may still run, for Adopt
	warnings []string     // for the next Changes
}

var _ Storage = (*Journal)(nil)

// OpenJournal opens or creates the journal, locked until Close. Damaged lines are left out
// with a warning, and the damaged file is kept. Errors: locked by another process, another
// study, a newer version, or not a journal.
func OpenJournal(path string, s *data.Study, o Options) (*Journal, *Snapshot, error) {
	run, orphans := 1, []Unfinished(nil)
	if o.Restart {
		var err error
		if run, orphans, err = setAside(path, s); err != nil {
			return nil, nil, err
		}
	}
	f, err := openLocked(path)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{file: f, path: path, study: markOf(s)}
	snapshot, err := j.load(s, o.Candidates)
	if err == nil && j.end == 0 {
		snapshot.Run = run
		err = j.append(entry{Event: "study", Version: journalVersion, Run: run, Study: &j.study})
		data.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		j.file.Close()
		return nil, nil, err
	}
	snapshot.Orphans = orphans
	return j, snapshot, nil
}

func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; --dir names another folder for it", err)
		}
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	if err := lockJournal(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (j *Journal) load(s *data.Study, candidates []data.Config) (*Snapshot, error) {
	text, err := io.ReadAll(j.file)
	if err != nil {
		return nil, fmt.Errorf("read the journal %s: %w", j.path, err)
	}
	r := newReader(j.path, s, candidates)
	if err := r.read(text); err != nil {
		return nil, err
	}
	if err := j.mend(text, r); err != nil {
		return nil, err
	}
	snapshot := r.snapshot()
	j.last, j.orphans = r.last, slices.Clone(snapshot.Submitted)
	return snapshot, nil
}

// mend keeps the valid lines, and the damaged file unless only its end was cut short.
func (j *Journal) mend(text []byte, r *reader) error {
	j.end = int64(len(r.kept))
	if len(r.kept) == len(text) && len(r.damage) == 0 {
		return nil
	}
	if len(r.damage) == 0 && len(r.kept) > 0 {
		if j.end < int64(len(text)) {
			r.warn("%s: removed a last line that an interruption had cut short (%d bytes)", j.path, len(text)-len(r.kept))
		}
		return j.rewrite(r.kept)
	}
	aside := freeName(j.path, ".damaged")
	if err := data.WriteFile(aside, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return fmt.Errorf("keep the damaged journal: %w", err)
	}
	r.warn("%s: %s; the damaged file is kept as %s", j.path, r.said(), filepath.Base(aside))
	return j.rewrite(r.kept)
}

func (j *Journal) rewrite(text []byte) error {
	_, err := j.file.WriteAt(text, 0)
	if err == nil {
		err = j.file.Truncate(int64(len(text)))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("repair the journal %s: %w", j.path, err)
	}
	return nil
}

// endRoom is more bytes than the end of a trial takes, with its curve.
const endRoom = 32 << 10

// Begin implements [Storage]. It fails if the disk has no room for the result.
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

func (j *Journal) Submitted(trial, attempt int, handle string) error {
	return j.append(entry{Event: "submitted", Trial: trial, Attempt: attempt, Handle: handle, At: time.Now().UTC()})
}

// End leaves the curve out on a full disk; else the error contains the measurement.
func (j *Journal) End(r Result) error {
	err := j.append(endEntry(r))
	if err == nil {
		return nil
	}
	r.Curve = nil
	if j.append(endEntry(r)) == nil {
		return fmt.Errorf("the training curve of trial %d is lost: %w", r.Trial, err)
	}
	return notRecorded(err, endEntry(r))
}

// notRecorded adds an unrecorded entry to an error, for the user to keep.
func notRecorded(err error, e entry) error {
	if line, bad := json.Marshal(e); bad == nil {
		return fmt.Errorf("%w\nnot recorded: %s", err, line)
	}
	return err
}

// Adopt returns, once each, the trials that an earlier run submitted.
func (j *Journal) Adopt() (*Unfinished, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.orphans) == 0 {
		return nil, nil
	}
	u := j.orphans[0]
	j.orphans = j.orphans[1:]
	return &u, nil
}

// Changes returns only warnings: a journal has one writer.
func (j *Journal) Changes() ([]Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	warnings := j.warnings
	j.warnings = nil
	return list.Map(warnings, warningChange), nil
}

func (j *Journal) Poll() time.Duration { return 0 }

// append writes and syncs one line. If that fails, the partial line is removed.
func (j *Journal) append(e entry) error {
	line, err := seal(e, j.study)
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	line = append(line, '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.present(); err != nil {
		return j.failed(err)
	}
	if _, err = j.file.WriteAt(line, j.end); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return j.failed(errors.Join(err, j.file.Truncate(j.end)))
	}
	j.end += int64(len(line))
	return nil
}

// present checks that the file has its name. A deleted one is written again.
func (j *Journal) present() error {
	open, err := j.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(j.path)
	switch {
	case err == nil && os.SameFile(open, named):
		return nil
	case err == nil:
		return errors.New("another file has taken its place during the run")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text := make([]byte, j.end)
	if _, err := j.file.ReadAt(text, 0); err != nil {
		return fmt.Errorf("it was deleted during the run and cannot be rewritten: %w", err)
	}
	f, err := openLocked(j.path)
	if err != nil {
		return fmt.Errorf("it was deleted during the run and cannot be rewritten: %w", err)
	}
	j.file.Close()
	j.file = f
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	data.SyncFolder(filepath.Dir(j.path))
	j.warnings = append(j.warnings, j.path+" was deleted during the run and has been rewritten")
	return nil
}

func (j *Journal) failed(err error) error {
	return fmt.Errorf("write the journal %s: %w; its content is kept; repair this and run the same command again", j.path, err)
}

// Close closes the journal and gives up its lock.
func (j *Journal) Close() error { return j.file.Close() }

// setAside renames a journal to a free NAME.old, NAME.old2, …, so that no measurement is lost.
// It returns the number of the new run, and the trials that an engine may still run. It fails
// if another process has the lock: two profilers would write the same files.
func setAside(path string, s *data.Study) (run int, orphans []Unfinished, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil, nil
	}
	var text []byte
	if err == nil {
		if err = lockJournal(f); err == nil {
			text, err = io.ReadAll(f)
		}
		f.Close() // before the renaming, which Windows refuses for an open file
	}
	if err == nil {
		err = os.Rename(path, freeName(path, ".old"))
		data.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("set the journal aside: %w", err)
	}
	r := newReader(path, s, nil)
	r.any = true
	_ = r.read(text) // unreadable lines do not matter here
	return max(r.run, 1) + 1, r.snapshot().Submitted, nil
}

// freeName returns the first of PATH.KIND, PATH.KIND2, … that is free.
func freeName(path, kind string) string {
	name := path + kind
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s%s%d", path, kind, n)
	}
}

func lockJournal(f *os.File) error {
	err := filelock.Lock(f)
	if errors.Is(err, filelock.ErrLocked) {
		return fmt.Errorf("journal %s: another knee profile is writing it; to share the study give it storage: sqlite:FILE", f.Name())
	}
	if err != nil {
		return fmt.Errorf("lock the journal %s: %w", f.Name(), err)
	}
	return nil
}
