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

// A profiler's own trials are not among its Changes; a recorded result is not
// recorded again.
func TestOwnTrialsAreNoNews(t *testing.T) {
	d, err := opened(t, t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, message := range []string{"", "it failed"} {
		c := data.Config{Job: "job", Workers: 1}
		trial, err := d.Begin(c)
		if err != nil {
			t.Fatal(err)
		}
		if news, err := d.Changes(); err != nil || len(news) != 0 {
			t.Errorf("news of a trial that runs here: %+v, %v", news, err)
		}
		id := d.own[trial]
		r := Result{Trial: trial, Measurement: data.Measurement{Config: c, Status: data.OK, StepTime: 1}}
		if message != "" {
			r.Measurement.Status, r.Measurement.StepTime, r.Measurement.Error = data.Failed, 0, message
		}
		if err := d.End(r); err != nil {
			t.Fatal(err)
		}
		if news, err := d.Changes(); err != nil || len(news) != 0 {
			t.Errorf("news of a trial that ended here: %+v, %v", news, err)
		}
		if err := d.deliver(id, d.owner, endEntry(r)); err != nil {
			t.Errorf("trial %d delivered again: %v", i+1, err)
		}
		if err := d.deliver(id, "another", endEntry(r)); !errors.Is(err, ErrTaken) {
			t.Errorf("trial %d ended by another: %v", i+1, err)
		}
	}
}

// Entries that were delivered, in a file that could not be removed, are no part of
// those that are kept next.
func TestOutboxBeginsEmpty(t *testing.T) {
	s := outbox{prefix: filepath.Join(t.TempDir(), "box"), owner: "a b"}
	if err := os.WriteFile(s.path(), []byte(strings.Repeat("delivered ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.keep(entry{Event: "begin", Trial: 1}); err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	if text, err := os.ReadFile(s.path()); err != nil || strings.Contains(string(text), "delivered") {
		t.Errorf("%.200q, %v", text, err)
	}
}

// A trial belongs to its profiler until its end is delivered. Close returns an
// error with the file of undelivered entries.
func TestOutboxKeepsTheOrder(t *testing.T) {
	dir := t.TempDir()
	d, _, away := flaky(t, dir)
	trial, err := d.Begin(data.Config{Job: "job", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	away(true)
	if err := d.Submitted(trial, 1, "job-7"); err != nil {
		t.Fatal(err)
	}
	answers(d, away)
	if err := d.deliverKept(); err != nil || d.own[trial] == 0 {
		t.Errorf("%v; own trials %v, want the one that runs", err, d.own)
	}
	away(true)
	if err := d.End(endOf(1, .5)); err != nil || d.own[trial] == 0 {
		t.Errorf("%v; own trials %v, want the one that is still to be delivered", err, d.own)
	}
	if err := d.deliverRest(0); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "1 results are kept in "+d.outbox.path()) {
		t.Errorf("err = %v, want where the result is", err)
	}
	answers(d, away)
	if err := d.deliverRest(time.Minute); err != nil || d.own[trial] != 0 {
		t.Errorf("%v; own trials %v, want none", err, d.own)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// The files of all earlier runs are delivered, line by line, with a warning for
// each damaged line.
func TestOldOutboxes(t *testing.T) {
	dir := t.TempDir()
	var dead []*Database
	for i := range 2 {
		d, _, away := flaky(t, dir)
		if _, err := d.Changes(); err != nil {
			t.Fatal(err)
		}
		trial, err := d.Begin(data.Config{Job: "job", Workers: 1 + i})
		if err != nil {
			t.Fatal(err)
		}
		away(true)
		r := endOf(1+i, .5)
		r.Trial = trial
		if err := errors.Join(d.Submitted(trial, 1, "job-7"), d.End(r)); err != nil {
			t.Fatal(err)
		}
		if err := d.outbox.file.append(entry{Event: "end", Trial: trial}); err != nil {
			t.Fatal(err)
		}
		dead = append(dead, d)
	}
	for _, d := range dead { // without Close
		close(d.stop)
		d.stopped.Wait()
		if err := errors.Join(d.outbox.file.Close(), d.disconnect()); err != nil {
			t.Fatal(err)
		}
	}
	next, past, _ := flaky(t, dir)
	defer next.Close()
	text := strings.Join(past.Warnings, "\n")
	if len(past.Results) != 2 || strings.Count(text, "that an earlier run kept for the database: 2 lines") != 2 || strings.Count(text, "left out a line that is damaged") != 2 {
		t.Errorf("%d results; %s", len(past.Results), text)
	}
}
