//go:build unix

package store

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"knee/data"
)

// On a disk that fills up during a trial the curve is dropped before the
// measurement, and the error contains what is not recorded; no trial begins
// without room for its end.
func TestJournalOnAFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	room := func(bytes int64) {
		limit := before
		if bytes >= 0 {
			limit.Cur = uint64(bytes)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	defer room(-1)
	path := filepath.Join(t.TempDir(), "j")
	j, _, err := OpenJournal(path, &data.Study{Job: "job"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Trial: 1, Measurement: data.Measurement{Config: data.Config{Job: "job", Workers: 1}, Status: data.OK, StepTime: .125}, Curve: make([]data.CurvePoint, 200)}
	if _, err := j.Begin(r.Measurement.Config); err != nil {
		t.Fatal(err)
	}
	room(j.end + 1000)
	if err := j.End(r); err == nil || !strings.Contains(err.Error(), "the training curve of trial 1 is lost") {
		t.Errorf("no room for the curve: %v", err)
	}
	room(j.end + 10)
	r.Trial = 2
	if err := j.End(r); err == nil || !strings.Contains(err.Error(), `not recorded: {"event":"end","trial":2`) || !strings.Contains(err.Error(), `"step_time_s":0.125`) {
		t.Errorf("no room for the measurement: %v", err)
	}
	room(j.end + endRoom - 1)
	if _, err := j.Begin(r.Measurement.Config); err == nil {
		t.Error("a trial was begun without room for its end")
	}
	room(-1)
	if info, err := os.Stat(path); err != nil || info.Size() != j.end {
		t.Errorf("%v, %v: what could not be written whole is not taken back", info.Size(), err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, s, err := OpenJournal(path, &data.Study{Job: "job"}, Options{})
	if err != nil || len(s.Results) != 1 || s.Results[0].Measurement.StepTime != .125 || len(s.Warnings) > 0 {
		t.Fatalf("%+v, %v; want the measurement that found room", s, err)
	}
	j.Close()
}
