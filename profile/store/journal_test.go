package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/profile/store"
)

func studyOf() *data.Study {
	return &data.Study{Job: "job", Source: data.Source{File: "study.yaml"}}
}

func TestJournalRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"another study", `{"event":"study","version":1,"study":{"job":"other","command":["x"]}}` + "\n", `found measurements with job "other", want those with "job"; for a changed job use --restart, or another --dir`},
		{"another command", `{"event":"study","version":1,"study":{"job":"job","command":["a && b"]}}` + "\n", `found measurements with command ["a && b"], want those with ["train"]`},
		{"another environment", `{"event":"study","version":1,"study":{"job":"job","command":["train"],"env":{"A":"1"}}}` + "\n", `found measurements with env {"A":"1"}, want those with nothing`},
		{"newer version", `{"event":"study","version":9,"study":{"job":"job","command":["train"]}}` + "\n", "found journal version 9, want at most 3"},
		{"not a journal", "job,workers\n1,2\n", "study.journal.jsonl:1: found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "study.journal.jsonl")
			if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			s := studyOf()
			s.Command = []string{"train"}
			_, _, err := store.OpenJournal(path, s, store.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want …%s…", err, tc.want)
			}
			if text, _ := os.ReadFile(path); string(text) != tc.text {
				t.Error("a journal that was refused has been changed")
			}
		})
	}
}

// A result is read as it was written, twice.
func TestJournalKeepsResults(t *testing.T) {
	s := studyOf()
	path := filepath.Join(t.TempDir(), "j")
	var past *store.Snapshot
	for range 3 {
		j, snapshot, err := store.OpenJournal(path, s, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if past = snapshot; len(past.Results) == 0 {
			c := data.Config{Job: s.Job, Workers: 1}
			trial, err := j.Begin(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.End(store.Result{Trial: trial, Queued: 90 * time.Second, Curve: []data.CurvePoint{{Job: s.Job, Step: 5, Loss: 2}},
				Measurement: data.Measurement{Config: c, Status: data.OK, StepTime: .5, Steps: 20}}); err != nil {
				t.Fatal(err)
			}
		}
		j.Close()
	}
	if len(past.Results) != 1 || len(past.Warnings) > 0 {
		t.Fatalf("%+v, want one result and no warning", past)
	}
	if r := past.Results[0]; r.Queued != 90*time.Second || r.Measurement.StepTime != .5 || len(r.Curve) != 1 || r.Curve[0].Loss != 2 {
		t.Errorf("%+v", r)
	}
}

func TestJournalIsLocked(t *testing.T) {
	s := studyOf()
	path := filepath.Join(t.TempDir(), "j")
	j, _, err := store.OpenJournal(path, s, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.OpenJournal(path, s, store.Options{}); err == nil || !strings.Contains(err.Error(), "another knee profile is writing it; to share the study give it storage") {
		t.Errorf("err = %v, want the second profiler to be refused", err)
	}
	j.Close()
	if j, _, err = store.OpenJournal(path, s, store.Options{}); err != nil {
		t.Errorf("after the first has gone: %v", err)
	} else {
		j.Close()
	}
}

func TestJournalInAFolderThatCannotBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, _, err := store.OpenJournal(filepath.Join(dir, "j"), studyOf(), store.Options{})
	if err == nil || !strings.Contains(err.Error(), "--dir names another folder") {
		t.Errorf("err = %v, want it to say what to do", err)
	}
}

// FuzzJournal feeds journals to the reader: no panic, and a refused file is not
// changed.
func FuzzJournal(f *testing.F) {
	head := `{"event":"study","version":1,"study":{"job":"job","command":null}}` + "\n"
	f.Add(head)
	f.Add(head + `{"event":"start","trial":1,"config":{"workers":2}}` + "\n" + `{"event":"end","trial":1,"measurement":{"workers":2,"status":"ok","step_time_s":1},"curve":[{"step":1}]}` + "\n")
	f.Add(head + `{"event":"end"}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		j, past, err := store.OpenJournal(path, studyOf(), store.Options{})
		if err != nil {
			return
		}
		j.Close()
		_, again, err := store.OpenJournal(path, studyOf(), store.Options{})
		if err != nil || len(again.Results) != len(past.Results) {
			t.Errorf("opened a second time: %v", err)
		}
	})
}
