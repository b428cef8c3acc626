package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"knee/data"
	"knee/profile/store"
)

// goodJournal writes a journal of nine trials, two of which have not ended,
// and returns its lines with their line feeds.
func goodJournal(t *testing.T, job string) [][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "j")
	s := studyOf()
	s.Job = job
	j, _, err := store.OpenJournal(path, s, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 9; i++ {
		c := data.Config{Job: job, Mode: data.AllReduce, GPUType: "a100", Workers: i, LocalBatch: 32, Extra: map[string]string{"lr": "0.1"}}
		id, err := j.Begin(c)
		if err == nil && i >= 8 {
			err = j.Submitted(id, 1, fmt.Sprint("job-", i))
		}
		if err == nil && i < 8 {
			err = j.End(store.Result{Trial: id, Measurement: data.Measurement{Config: c, Status: data.OK, StepTime: .1 * float64(i), StepTimeSE: .001,
				Steps: 50, Wall: 20, StartSeconds: 3, StartedAt: time.Unix(1e9+60*int64(i), 0).UTC()},
				Curve: []data.CurvePoint{{Job: job, Run: fmt.Sprint("trial-", id), Step: 1, Loss: 2}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// facts returns the measurements of a snapshot as text.
func facts(s *store.Snapshot) map[int]string {
	out := map[int]string{}
	for _, r := range s.Results {
		text, _ := json.Marshal(r.Measurement)
		out[r.Trial] = string(text)
	}
	return out
}

// reopen opens a journal with a text, and returns nil if it is refused.
func reopen(t *testing.T, text []byte) *store.Snapshot {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "knee") // a memory file system, where sync is fast, if present
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "j")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	j, s, err := store.OpenJournal(path, studyOf(), store.Options{})
	if err != nil {
		if now, _ := os.ReadFile(path); !bytes.Equal(now, text) {
			t.Errorf("a journal that was refused has been changed: %v", err)
		}
		return nil
	}
	j.Close()
	j, again, err := store.OpenJournal(path, studyOf(), store.Options{})
	if err != nil || len(again.Warnings) > 0 {
		t.Fatalf("opened a second time: %v, %+v", err, again)
	}
	j.Close()
	if fmt.Sprint(facts(again)) != fmt.Sprint(facts(s)) {
		t.Errorf("the journal that was mended holds something else")
	}
	return s
}

// check reports whether damage was silent, and whether a valid line was lost: a
// trial of whole is valid if its end line is unchanged in text.
func check(t *testing.T, what string, whole map[int]string, lines [][]byte, text []byte, undamaged string) (silent bool) {
	t.Helper()
	s := reopen(t, text)
	if s == nil {
		return false
	}
	got := facts(s)
	for trial, m := range got {
		if m != whole[trial] {
			t.Errorf("%s: trial %d has become %s", what, trial, m)
		}
	}
	for _, line := range lines {
		var e struct {
			Event string
			Trial int
		}
		if json.Unmarshal(line, &e) == nil && e.Event == "end" && bytes.Contains(text, bytes.TrimSpace(line)) && got[e.Trial] == "" {
			t.Errorf("%s: the result of trial %d is lost", what, e.Trial)
		}
	}
	state := fmt.Sprint(got, len(s.Submitted), len(s.Interrupted))
	return len(s.Warnings) == 0 && state != undamaged
}

// Damage to a journal is refused, or repaired with a warning; no undamaged line
// is lost.
func TestJournalDamage(t *testing.T) {
	lines := goodJournal(t, "job")
	text := append(bytes.Join(lines, nil), '\n')
	good := reopen(t, text)
	whole := facts(good)
	undamaged := fmt.Sprint(whole, len(good.Submitted), len(good.Interrupted))
	foreign := goodJournal(t, "other")
	rng := rand.New(rand.NewPCG(1, 2))
	silent := map[string]int{}
	try := func(kind string, damaged []byte) {
		if check(t, kind, whole, lines, damaged, undamaged) {
			silent[kind]++
		}
	}
	for range 300 {
		flipped := bytes.Clone(text)
		flipped[rng.IntN(len(flipped))] ^= 1 << rng.IntN(8)
		try("flip", flipped)
	}
	for range 200 {
		at := 1 + rng.IntN(len(text)-1)
		if text[at-1] != '\n' && text[at] != '\n' { // a cut between two lines gives a valid earlier journal
			try("cut", text[:at])
		}
	}
	for i := range lines {
		line := append(bytes.TrimSuffix(bytes.Clone(lines[i]), []byte("\n")), '\n')
		at := bytes.Join(lines[:i], nil)
		rest := append(bytes.Join(lines[i+1:], nil), '\n')
		try("doubled", bytes.Join([][]byte{at, line, line, rest}, nil))
		try("joined", bytes.Join([][]byte{at, bytes.TrimSpace(line), rest}, nil))
		if i > 0 {
			try("foreign", bytes.Join([][]byte{at, bytes.TrimSpace(foreign[i]), []byte("\n"), line, rest}, nil))
		}
	}
	try("no line feeds", bytes.ReplaceAll(text, []byte("\n"), nil))
	try("garbage", []byte("not a journal at all"))
	if len(silent) > 0 {
		t.Errorf("silent: %v", silent)
	}
}

// Journals of older versions, without checksums, are read and validated.
func TestOldJournalsAreRead(t *testing.T) {
	head := `{"event":"study","version":2,"study":{"job":"job","command":null}}` + "\n"
	row := func(trial int, measurement string) string {
		return fmt.Sprintf(`{"event":"start","trial":%d,"config":{"job":"job","workers":2}}`+"\n"+`{"event":"end","trial":%d,"measurement":{"job":"job","workers":2,%s}}`+"\n", trial, trial, measurement)
	}
	for _, tc := range []struct {
		name, text string
		results    int
		warns      bool
	}{
		{"good", row(1, `"status":"ok","step_time_s":1,"steps":20`), 1, false},
		{"negative steps", row(1, `"status":"ok","step_time_s":1,"steps":-5`) + row(2, `"status":"ok","step_time_s":1,"steps":5`), 1, true},
		{"unknown key", row(1, `"status":"ok","step_time_s":1,"extre":{"lr":"1"}`), 0, true},
		{"another job", row(1, `"status":"ok","step_time_s":1`) + `{"event":"start","trial":2,"config":{"job":"b","workers":2}}` + "\n", 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := reopen(t, []byte(head+tc.text))
			if s == nil || len(s.Results) != tc.results || (len(s.Warnings) > 0) != tc.warns {
				t.Errorf("%+v, want %d results, warnings: %v", s, tc.results, tc.warns)
			}
		})
	}
}

func TestJournalSaysWhatIsOutsideTheSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	if err := os.WriteFile(path, append(bytes.Join(goodJournal(t, "job"), nil), '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	j, s, err := store.OpenJournal(path, studyOf(), store.Options{Candidates: []data.Config{{Job: "job", Workers: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if len(s.Results) != 7 || len(s.Warnings) != 1 {
		t.Errorf("%d results, warnings %q; want all results kept and one warning", len(s.Results), s.Warnings)
	}
}

func TestJournalDeletedDuringARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, err := store.OpenJournal(path, studyOf(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := data.Config{Job: "job", Mode: data.AllReduce, Workers: 1}
	id, err := j.Begin(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := j.End(store.Result{Trial: id, Measurement: data.Measurement{Config: c, Status: data.OK, StepTime: 1}}); err != nil {
		t.Fatal(err)
	}
	if changes, err := j.Changes(); err != nil || len(changes) != 1 || changes[0].Warning == "" {
		t.Errorf("changes %+v, %v; want it said", changes, err)
	}
	j.Close()
	j, s, err := store.OpenJournal(path, studyOf(), store.Options{})
	if err != nil || len(s.Results) != 1 {
		t.Errorf("%+v, %v; want the journal with what was measured", s, err)
	}
	j.Close()
}

// A restarted study has the next run number, and returns the jobs of the run
// before as Orphans.
func TestRestartKnowsTheRunBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	if err := os.WriteFile(path, append(bytes.Join(goodJournal(t, "job"), nil), '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	for run := 2; run <= 3; run++ {
		j, s, err := store.OpenJournal(path, studyOf(), store.Options{Restart: true})
		if err != nil {
			t.Fatal(err)
		}
		j.Close()
		if s.Run != run || len(s.Results) != 0 || len(s.Orphans) != 2*(3-run) {
			t.Errorf("run %d with %d results and %d orphans, want run %d without results and %d", s.Run, len(s.Results), len(s.Orphans), run, 2*(3-run))
		}
	}
	j, s, err := store.OpenJournal(path, studyOf(), store.Options{})
	if err != nil || s.Run != 3 {
		t.Errorf("run %+v, %v; want 3 when it goes on", s, err)
	}
	j.Close()
}
