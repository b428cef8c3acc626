package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"knee/data"
	"knee/internal/filelock"
	"knee/operate/queue"
)

// state is kept between turns, by job id: when jobs were changed, how far their
// logs were read, and what was proposed.
type state struct {
	Changed  map[string]time.Time      `json:"changed"`
	Readings map[string]*queue.Reading `json:"readings"`
	Proposed map[string]string         `json:"proposed"` // kind of the last turn's proposal, to log each once

	path string
}

// readState reads the state of a folder. A file that cannot be read is an
// error: without it, jobs could be changed again before BetweenMoves has passed.
func readState(dir string) (*state, error) {
	s := &state{path: filepath.Join(dir, "state.json"), Changed: map[string]time.Time{}, Readings: map[string]*queue.Reading{}, Proposed: map[string]string{}}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the loop: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, &data.InputError{Source: data.Source{File: s.path}, Found: err.Error(), Want: "what knee operate wrote; without the file jobs may be changed again at once"}
	}
	if s.Changed == nil || s.Readings == nil || s.Proposed == nil || slices.Contains(slices.Collect(maps.Values(s.Readings)), nil) {
		return nil, &data.InputError{Source: data.Source{File: s.path}, Found: "null", Want: "what knee operate wrote"}
	}
	return s, nil
}

// shift moves every time by as much as the clock was set forward.
func (s *state) shift(by time.Duration) {
	for id, at := range s.Changed {
		s.Changed[id] = at.Add(by)
	}
	for _, r := range s.Readings {
		r.Since, r.Told = r.Since.Add(by), r.Told.Add(by)
	}
}

// settle deletes the readings of jobs that have left the queue, and sets times
// after now to now: the clock was set back while knee did not run. The time of a
// change is deleted only after keep, since an incomplete answer may lack the job.
func (s *state) settle(known func(id string) bool, forget func(id string) error, now time.Time, keep time.Duration) error {
	var failed []error
	for id, r := range s.Readings {
		if r.Since.After(now) {
			r.Since = now.UTC()
		}
		if r.Told.After(now) {
			r.Told = now.UTC()
		}
		if !known(id) {
			delete(s.Readings, id)
			failed = append(failed, forget(id))
		}
	}
	for id, at := range s.Changed {
		switch {
		case at.After(now):
			s.Changed[id] = now.UTC()
		case !known(id) && now.Sub(at) > keep:
			delete(s.Changed, id)
		}
	}
	return errors.Join(append(failed, s.write())...)
}

func (s *state) write() error { return writeJSON(s.path, s) }

func writeJSON(path string, v any) error {
	return data.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

// lock makes a folder and lets one process operate from it, until the result is closed.
func lock(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("operate from %s: %w", dir, err)
	}
	return f, nil
}
