package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"knee/data"
)

// Overlapping trials count once; a trial without a start time counts in full.
func TestWallTimeOfParallelTrials(t *testing.T) {
	at := time.Unix(1000, 0)
	s := Snapshot{Results: []Result{{Measurement: data.Measurement{Wall: 1.5}}, {Measurement: data.Measurement{Wall: 2}}}}
	for _, span := range [][2]int{{20, 1}, {0, 10}, {2, 5}, {8, 4}, {12, 1}} {
		s.Results = append(s.Results, Result{Measurement: data.Measurement{StartedAt: at.Add(time.Duration(span[0]) * time.Second), Wall: float64(span[1])}})
	}
	if s.Wall() != 17500*time.Millisecond {
		t.Errorf("took %s, want 17.5s", s.Wall())
	}
}

// A failed Open returns an error and a nil storage.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	if err := os.WriteFile(path, []byte("no journal\nat all\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*data.Study{
		{Job: "job"}, {Job: "job", Storage: "journal"}, {Job: "job", Storage: "sqlite:" + filepath.Join(path, "no.db")},
	} {
		if storage, snapshot, err := Open(t.Context(), s, Options{Journal: path}); err == nil || storage != nil || snapshot != nil {
			t.Errorf("%q: %v, %v, %v", s.Storage, storage, snapshot, err)
		}
	}
	storage, _, err := Open(t.Context(), &data.Study{Job: "job"}, Options{Journal: filepath.Join(dir, "new")})
	if err != nil {
		t.Fatal(err)
	}
	storage.Close()
	storage, _, err = Open(t.Context(), &data.Study{Job: "job", Storage: "sqlite:" + filepath.Join(dir, "new.db")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	storage.Close()
	_, _, err = Open(t.Context(), &data.Study{Job: "job", Storage: "postgres://u:secret@h/db"}, Options{Restart: true})
	if err == nil || !strings.Contains(err.Error(), "storage: postgres://…#second") {
		t.Errorf("restart of a shared study: %v", err)
	}
}

// A record is named without its password.
func TestName(t *testing.T) {
	for storage, want := range map[string]string{
		"": "j", "journal": "j", "sqlite:a.db": "sqlite:a.db", "mysql://u:secret@h/db#x": "mysql://u:xxxxx@h/db",
		"redis://u:secret@h": "redis://…", "secret": "secret:…",
	} {
		if got := Name(&data.Study{Storage: storage}, "j"); got != want {
			t.Errorf("%s: %s, want %s", storage, got, want)
		}
	}
}

// Names are not used twice.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	for range 4 {
		j, _, err := OpenJournal(path, &data.Study{Job: "job"}, Options{Restart: true})
		if err != nil {
			t.Fatal(err)
		}
		j.Close()
	}
	for _, name := range []string{".old", ".old2", ".old3"} {
		if _, err := os.Stat(path + name); err != nil {
			t.Error(err)
		}
	}
}

// Another file in place of the journal is not written.
func TestJournalReplacedDuringARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, err := OpenJournal(path, &data.Study{Job: "job"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("mine"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin(data.Config{Job: "job", Workers: 1}); err == nil || !strings.Contains(err.Error(), "another file has taken its place") {
		t.Errorf("err = %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the other file holds %q", text)
	}
}
