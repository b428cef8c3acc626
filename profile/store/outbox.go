package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"knee/internal/filelock"
)

// outbox keeps entries while the database is away, in a file of this process.
type outbox struct {
	prefix  string // of the file's name
	owner   string
	storage string
	file    *Journal // nil unless something is kept
	kept    []entry  // entries of the file, oldest first
}

// path returns the file's name, with the random last part of the owner.
func (s *outbox) path() string {
	return s.prefix + "-" + s.owner[strings.LastIndexByte(s.owner, ' ')+1:] + ".jsonl"
}

func (s *outbox) keep(e entry) error {
	if s.file == nil {
		f, err := openLocked(s.path())
		if err == nil {
			err = f.Truncate(0) // a file of delivered entries that could not be removed
		}
		if err != nil {
			return fmt.Errorf("keep results for the database: %w", err)
		}
		s.file = &Journal{file: f, path: s.path()}
	}
	if err := s.file.append(e); err != nil {
		return err
	}
	s.kept = append(s.kept, e)
	return nil
}

// delivered removes the oldest entry, and the file after the last one.
func (s *outbox) delivered() error {
	s.kept = s.kept[1:]
	if len(s.kept) > 0 {
		return nil
	}
	err := errors.Join(s.file.Close(), os.Remove(s.path())) // Windows removes no open file
	s.file = nil
	return err
}

// deliverOrKeep records an entry, or keeps it if the database is away or older ones wait.
func (d *Database) deliverOrKeep(trial int, e entry) error {
	d.mu.Lock()
	id, ok := d.own[trial]
	waiting := len(d.outbox.kept) > 0
	d.mu.Unlock()
	if !ok {
		return ErrTaken
	}
	var err error = ErrUnreachable
	if !waiting {
		err = d.deliver(id, d.owner, e)
	}
	if err == nil || errors.Is(err, ErrTaken) {
		return err
	}
	e.Storage, e.StudyID, e.Owner, e.TrialID = d.outbox.storage, d.study, d.owner, id
	d.mu.Lock()
	defer d.mu.Unlock()
	if keep := d.outbox.keep(e); keep != nil {
		return notRecorded(errors.Join(err, keep), e)
	}
	if errors.Is(err, ErrUnreachable) {
		return nil
	}
	return notRecorded(fmt.Errorf("%w; it is kept in %s, and delivered by the next run", err, d.outbox.path()), e)
}

func (d *Database) deliverKept() error {
	for {
		d.mu.Lock()
		if d.outbox == nil || len(d.outbox.kept) == 0 {
			d.mu.Unlock()
			return nil
		}
		e := d.outbox.kept[0]
		d.mu.Unlock()
		if err := d.deliverEntry(e); err != nil {
			return err
		}
		d.mu.Lock()
		err := d.outbox.delivered()
		if e.Event == "end" {
			delete(d.own, e.Trial)
		}
		d.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// deliverEntry delivers a kept entry; if another profiler ended the trial, that counts.
func (d *Database) deliverEntry(e entry) error {
	id, owner, storage := e.TrialID, e.Owner, e.Storage
	e.TrialID, e.Owner, e.Storage, e.StudyID = 0, "", "", 0
	err := d.deliver(id, owner, e)
	if !errors.Is(err, ErrTaken) {
		return err
	}
	if e.Event == "end" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.warnings = append(d.warnings, fmt.Sprintf("%s: while the database did not answer, another profiler finished trial %d; its result counts", storage, e.Trial))
	}
	return nil
}

// deliverRest delivers the outbox before the storage is closed, within limit.
func (d *Database) deliverRest(limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(firstWait) {
		err := d.deliverKept()
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrUnreachable) || time.Now().After(end) {
			return fmt.Errorf("%w; %d results are kept in %s, run the same command again to deliver them", err, len(d.outbox.kept), d.outbox.path())
		}
	}
}

// deliverOld delivers the outboxes of earlier runs, except files of active runs.
func (d *Database) deliverOld() error {
	literal := strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(d.outbox.prefix)
	paths, err := filepath.Glob(literal + "-*.jsonl")
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := d.deliverFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d *Database) deliverFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if filelock.Lock(f) != nil {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	delivered := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		e, err := unseal(line)
		if has, right := sealed(line, studyMark{}); err != nil || has && !right || e.Event == "end" && e.Measurement == nil {
			d.warnings = append(d.warnings, fmt.Sprintf("%s: left out a line that is damaged or cut short: %.60q", path, line))
			continue
		}
		if e.Storage != d.outbox.storage || e.StudyID != d.study {
			d.warnings = append(d.warnings, fmt.Sprintf("%s holds results for %s; they are delivered when a study uses that storage again", path, e.Storage))
			return nil
		}
		if err := d.deliverEntry(e); err != nil {
			return err
		}
		delivered++
	}
	d.warnings = append(d.warnings, fmt.Sprintf("%s: delivered results that an earlier run kept for the database: %d lines", path, delivered))
	return errors.Join(f.Close(), os.Remove(path)) // Windows removes no open file
}
