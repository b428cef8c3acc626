package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/data"
)

// written is a line of a journal as it is written, with a checksum.
func written(t *testing.T, job string, e entry) string {
	t.Helper()
	line, err := seal(e, studyMark{Job: job})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func startEntry(trial int, job string, workers int) entry {
	return entry{Event: "start", Trial: trial, Config: &data.Config{Job: job, Workers: workers}}
}

func endedEntry(trial int, job string, workers int) entry {
	return endEntry(Result{Trial: trial, Measurement: data.Measurement{Config: data.Config{Job: job, Workers: workers}, Status: data.OK, StepTime: 1}})
}

// Valid lines of a journal are read; a warning gives the number and error of
// the others. The file then holds the valid lines, and the damaged file is kept
// beside it.
func TestJournalLines(t *testing.T) {
	head := written(t, "job", entry{Event: "study", Version: journalVersion, Run: 1, Study: &studyMark{Job: "job"}})
	one, endOne := written(t, "job", startEntry(1, "job", 1)), written(t, "job", endedEntry(1, "job", 1))
	two, endTwo := written(t, "job", startEntry(2, "job", 2)), written(t, "job", endedEntry(2, "job", 2))
	submitted := written(t, "job", entry{Event: "submitted", Trial: 1, Attempt: 2, Handle: "j-7"})
	submittedTwo := written(t, "job", entry{Event: "submitted", Trial: 2, Attempt: 1, Handle: "j-8"})
	foreign, foreignEnd := written(t, "other", startEntry(3, "b", 1)), written(t, "other", endedEntry(3, "b", 1))
	torn := endOne[:len(endOne)-9]
	oldHead := `{"event":"study","version":2,"study":{"job":"job","command":null}}`
	oldOne := `{"event":"start","trial":1,"config":{"job":"job","workers":1}}`
	lines := func(l ...string) string { return strings.Join(l, "\n") + "\n" }
	for _, tc := range []struct {
		name, text        string
		kept              string // empty for the text
		results, running  int
		warning, damaging string // warning about a cut end, and about damage
	}{
		{"nothing", "", lines(head), 0, 0, "", ""},
		{"whole", lines(head, one, endOne, two), "", 1, 1, "", ""},
		{"followed", lines(head, one, submitted, submittedTwo), lines(head, one, submitted), 0, 1, "", "line 4 is damaged and left out or repaired: trial 2 had been submitted but not begun"},
		{"cut", lines(head, one) + endOne[:40], lines(head, one), 0, 1, "removed a last line that an interruption had cut short (40 bytes)", ""},
		{"cut behind its line feed", strings.TrimSuffix(lines(head, one, endOne), "\n"), lines(head, one, endOne), 1, 0, "", ""},
		{"torn before the end", lines(head, one, torn, two) + endTwo[:9], lines(head, one, two), 0, 2, "", "line 3 is damaged and left out or repaired: a line has no checksum"},
		{"two places", lines(head, torn, one, torn, endOne), lines(head, one, endOne), 1, 0, "", "2 places are damaged and left out or repaired, the first at line 2: a line has no checksum"},
		{"ends twice", lines(head, one, endOne, endOne), lines(head, one, endOne), 1, 0, "", "line 4 is damaged and left out or repaired: trial 1 ends twice, the first counts"},
		{"begins twice", lines(head, one, one), lines(head, one), 0, 1, "", "line 3 is damaged and left out or repaired: trial 1 begins twice"},
		{"begins after its end", lines(head, one, endOne, one), lines(head, one, endOne), 1, 0, "", "line 4 is damaged and left out or repaired: trial 1 begins twice"},
		{"ends without its beginning", lines(head, endOne), "", 1, 0, "", ""},
		{"two on a line", lines(head, one+endOne, two), lines(head, one, endOne, two), 1, 1, "", "line 2 is damaged and left out or repaired: a line feed was missing"},
		{"of another job", lines(head, one, foreign), lines(head, one), 0, 1, "", `line 3 is damaged and left out or repaired: a line is of job "b"`},
		{"result of another job", lines(head, one, foreignEnd), lines(head, one), 0, 1, "", `line 3 is damaged and left out or repaired: a line is of job "b"`},
		{"another number", lines(head, one, strings.Replace(endOne, `"step_time_s":1`, `"step_time_s":2`, 1)), lines(head, one), 0, 1, "", "line 3 is damaged and left out or repaired: a line does not match its checksum"},
		{"no checksum", lines(head, one, `{"event":"start","trial":2,"config":{"job":"job","workers":2}}`), lines(head, one), 0, 1, "", "line 3 is damaged and left out or repaired: a line has no checksum"},
		{"first line damaged", lines(head[:30], one, endOne), lines(head, one, endOne), 1, 0, "", "line 1 is damaged and left out or repaired: the line that names the study cannot be read"},
		{"first line is not its own", lines(strings.Replace(head, `"run":1`, `"run":2`, 1), one), lines(head, one), 0, 1, "", "line 1 is damaged and left out or repaired: the line that names the study does not match its checksum"},
		{"first line without its checksum", lines(head[:len(head)-sealLength]+"}", one), lines(head, one), 0, 1, "", "line 1 is damaged and left out or repaired: the line that names the study does not match its checksum"},
		{"named again", lines(head, one, head), lines(head, one), 0, 1, "", "line 3 is damaged and left out or repaired: trial 0"},
		{"older, goes on with checksums", lines(oldHead, oldOne, endOne, oldOne), lines(oldHead, oldOne, endOne), 1, 0, "", "line 4 is damaged and left out or repaired: a line has no checksum"},
		{"older, not JSON", lines(oldHead, oldOne, "{no}"), lines(oldHead, oldOne), 0, 1, "", "line 3 is damaged and left out or repaired: invalid character 'n' looking for beginning of object key string"},
		{"nothing but a line feed", "\n", lines(head), 0, 0, "", "it holds nothing that can be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			j, s, err := OpenJournal(path, &data.Study{Job: "job"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			j.Close()
			want := tc.kept
			if want == "" {
				want = tc.text
			}
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("the journal holds\n%swant\n%s", got, want)
			}
			if running := len(s.Submitted) + len(s.Interrupted); len(s.Results) != tc.results || running != tc.running {
				t.Errorf("%d results and %d running, want %d and %d", len(s.Results), running, tc.results, tc.running)
			}
			warning := tc.warning
			if tc.damaging != "" {
				warning = tc.damaging + "; the damaged file is kept as j.damaged"
			}
			if got := strings.Join(s.Warnings, "\n"); got != strings.TrimSuffix(path+": "+warning, path+": ") {
				t.Errorf("said %q, want %q", got, warning)
			}
			if aside, _ := os.ReadFile(path + ".damaged"); string(aside) != map[bool]string{true: tc.text}[tc.damaging != ""] {
				t.Errorf("kept aside: %q", aside)
			}
		})
	}
}

// A file that does not begin as a journal is refused, whatever follows.
func TestNoJournal(t *testing.T) {
	for _, text := range []string{
		`{"event":"start","trial":1,"config":{"job":"job","workers":1}}` + "\n",
		"workers,step\n1,2\n",
		`{"event":"study","version":1}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := OpenJournal(path, &data.Study{Job: "job"}, Options{}); err == nil || !strings.Contains(err.Error(), "j:1: found") {
			t.Errorf("%q: %v, want it refused", text, err)
		}
	}
}

// Interrupted trials are measured again if they are in the space; submitted
// ones are followed in any case.
func TestJournalOfASpaceThatShrank(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	s := &data.Study{Job: "job"}
	j, _, err := OpenJournal(path, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for workers := 1; workers <= 3; workers++ {
		if _, err := j.Begin(data.Config{Job: "job", Workers: workers}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Submitted(3, 2, "j-3"); err != nil {
		t.Fatal(err)
	}
	j.Close()
	j, snapshot, err := OpenJournal(path, s, Options{Candidates: []data.Config{{Job: "job", Workers: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if len(snapshot.Interrupted) != 1 || snapshot.Interrupted[0].Workers != 2 || !strings.Contains(strings.Join(snapshot.Warnings, ""), "2 trials are outside the study's space") {
		t.Errorf("%+v, want trial 2 to be done again, and two outside", snapshot)
	}
	if u, err := j.Adopt(); err != nil || u == nil || u.Trial != 3 || u.Handle != "j-3" || u.Attempt != 2 {
		t.Errorf("took up %+v, %v; want trial 3", u, err)
	}
	if u, err := j.Adopt(); err != nil || u != nil {
		t.Errorf("took up %+v, %v again", u, err)
	}
}

// GPU types of earlier versions, as the study spelt them, are those of the study.
func TestJournalFoldsGPUTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	early := data.Config{Job: "job", GPUType: "v100-sxm2-16gb", Workers: 1}
	text := written(t, "job", entry{Event: "study", Version: journalVersion, Run: 1, Study: &studyMark{Job: "job"}}) + "\n" +
		written(t, "job", entry{Event: "start", Trial: 1, Config: &early}) + "\n" +
		written(t, "job", endEntry(Result{Trial: 1, Measurement: data.Measurement{Config: early, Status: data.OK, StepTime: 1}})) + "\n" +
		written(t, "job", entry{Event: "start", Trial: 2, Config: &early}) + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	now := data.Config{Job: "job", GPUType: "v100", Workers: 1}
	j, snapshot, err := OpenJournal(path, &data.Study{Job: "job"}, Options{Candidates: []data.Config{now}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if len(snapshot.Warnings) > 0 || len(snapshot.Interrupted) != 1 || snapshot.Results[0].Measurement.Key() != now.Key() {
		t.Errorf("%+v, want a result of v100 and trial 2 to be done again", snapshot)
	}
}

// A trial outside the space counts once, even if its start line is damaged.
func TestOutsideCountsOnce(t *testing.T) {
	head := written(t, "job", entry{Event: "study", Version: journalVersion, Run: 1, Study: &studyMark{Job: "job"}})
	begin, end := written(t, "job", startEntry(1, "job", 1)), written(t, "job", endedEntry(1, "job", 1))
	for _, text := range []string{head + "\n" + begin + "\n" + end + "\n", head + "\n" + end + "\n"} {
		r := newReader("j", &data.Study{Job: "job"}, []data.Config{{Job: "job", Workers: 2}})
		if err := r.read([]byte(text)); err != nil || r.outside != 1 {
			t.Errorf("%d trials are outside, %v; want 1", r.outside, err)
		}
	}
}

// Requirements of an entry.
func TestEntryProblem(t *testing.T) {
	c := &data.Config{Job: "job", Workers: 1}
	m := &data.Measurement{Config: *c, Status: data.OK, StepTime: 1}
	for _, tc := range []struct {
		name string
		e    entry
		want string
	}{
		{"begins", entry{Event: "start", Trial: 1, Config: c}, ""},
		{"no number", entry{Event: "start", Config: c}, "trial 0"},
		{"begins without a configuration", entry{Event: "start", Trial: 1}, `event "start" is incomplete`},
		{"configuration of nothing", entry{Event: "ends", Trial: 1, Config: c}, `event "ends" is incomplete`},
		{"submitted", entry{Event: "submitted", Trial: 1, Attempt: 1, Handle: "h"}, ""},
		{"submitted without a handle", entry{Event: "submitted", Trial: 1, Attempt: 1}, `event "submitted" is incomplete`},
		{"submitted without an attempt", entry{Event: "submitted", Trial: 1, Handle: "h"}, `event "submitted" is incomplete`},
		{"handle of nothing", entry{Event: "sent", Trial: 1, Attempt: 1, Handle: "h"}, `event "sent" is incomplete`},
		{"ends", entry{Event: "end", Trial: 1, Measurement: m}, ""},
		{"ends without a measurement", entry{Event: "end", Trial: 1}, `event "end" is incomplete`},
		{"measurement of nothing", entry{Event: "stop", Trial: 1, Measurement: m}, `event "stop" is incomplete`},
		{"waited for less than nothing", entry{Event: "end", Trial: 1, Measurement: m, Queued: -1}, "queued_s -1"},
		{"of another job", entry{Event: "start", Trial: 1, Config: &data.Config{Job: "b", Workers: 1}}, `job "b"`},
	} {
		if got := tc.e.problem("job"); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	bad := *m
	bad.Steps = -5
	if got := (entry{Event: "end", Trial: 1, Measurement: &bad}).problem("job"); !strings.Contains(got, "steps: found \"-5\"") || strings.HasPrefix(got, ":") {
		t.Errorf("%q, want what is wrong, without a line of a file that is none", got)
	}
}

// A checksum is found at the end of a line, and separates lines without a line
// feed.
func TestSeals(t *testing.T) {
	study := studyMark{Job: "job"}
	one, two := written(t, "job", startEntry(1, "job", 1)), written(t, "job", startEntry(2, "job", 2))
	if has, right := sealed([]byte(one), study); !has || !right {
		t.Errorf("a line that was sealed: %v, %v", has, right)
	}
	if has, right := sealed([]byte(one), studyMark{Job: "other"}); !has || right {
		t.Errorf("a line of another study: %v, %v", has, right)
	}
	for _, line := range []string{"", one[:len(one)-1], one[len(one)-sealLength+1:]} {
		if has, _ := sealed([]byte(line), study); has {
			t.Errorf("%q has a seal", line)
		}
	}
	if has, _ := sealed([]byte(one[len(one)-sealLength:]), study); !has {
		t.Error("nothing but a seal has none")
	}
	for _, tc := range []struct {
		text string
		want []string
	}{{one + two, []string{one, two}}, {one + "\x00" + two + "x", []string{one, two, "x"}}, {"", nil}, {"x", []string{"x"}}} {
		if got := pieces([]byte(tc.text)); fmt.Sprintf("%s", got) != fmt.Sprintf("%s", tc.want) || len(got) != len(tc.want) {
			t.Errorf("pieces of %q: %q", tc.text, got)
		}
	}
	if !bytes.HasPrefix([]byte(one), []byte(`{"event":`)) {
		t.Error("a line does not begin as pieces expects it")
	}
}
