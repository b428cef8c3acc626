package store

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"knee/bayesopt"
	"knee/data"
)

// errGone is the error of an unreachable database in tests.
var errGone = errors.New("connection refused")

// flaky opens a study in dir whose database can be made unreachable. The
// heartbeat runs beside the test, so the test changes d with its lock held.
func flaky(t *testing.T, dir string) (d *Database, past *Snapshot, away func(bool)) {
	t.Helper()
	s := &data.Study{Job: "job", Command: []string{"train"}, Storage: "sqlite:study.db", Source: data.Source{File: filepath.Join(dir, "study.yaml")}}
	candidates := []data.Config{{Job: "job", Workers: 1}, {Job: "job", Workers: 2}}
	o := bayesopt.Options{Objective: bayesopt.StepTime}
	d, past, err := openDatabase(context.Background(), s, Options{Outbox: filepath.Join(dir, "study.undelivered"), Lease: 150 * time.Millisecond, Candidates: candidates, Search: o})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	isAway := false
	gone := func(tx *gorm.DB) {
		if isAway {
			_ = tx.AddError(errGone)
		}
	}
	c := d.db.Callback()
	for _, err := range []error{c.Raw().Before("gorm:raw").Register("away", gone), c.Query().Before("gorm:query").Register("away", gone)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sqlite := d.address.backend.temporary
	d.address.backend.temporary = func(err error) bool { return errors.Is(err, errGone) || sqlite(err) }
	return d, past, func(now bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		isAway = now
	}
}

// answers ends the outage, with the next attempt due at once.
func answers(d *Database, away func(bool)) {
	away(false)
	d.mu.Lock()
	d.outage.next = time.Time{}
	d.mu.Unlock()
}

func endOf(workers int, step float64) Result {
	return Result{Trial: 1, Measurement: data.Measurement{Config: data.Config{Job: "job", Workers: workers}, Status: data.OK, StepTime: step, Steps: 20}}
}

func undelivered(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "study.undelivered-*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestOutageKeepsWhatWasMeasured(t *testing.T) {
	dir := t.TempDir()
	d, _, away := flaky(t, dir)
	trial, err := d.Begin(data.Config{Job: "job", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	away(true)
	if err := d.Submitted(trial, 1, "job-7"); err != nil {
		t.Errorf("a handle during an outage: %v", err)
	}
	if err := d.End(endOf(1, .5)); err != nil {
		t.Errorf("an end during an outage: %v", err)
	}
	if _, err := d.Changes(); !errors.Is(err, ErrUnreachable) {
		t.Errorf("news during an outage: %v", err)
	}
	if _, err := d.Begin(data.Config{Job: "job", Workers: 2}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a trial begun during an outage: %v", err)
	}
	if files := undelivered(t, dir); len(files) != 1 {
		t.Errorf("files %v, want one with what is to be delivered", files)
	}
	answers(d, away)
	if _, err := d.Changes(); err != nil {
		t.Fatal(err)
	}
	if files := undelivered(t, dir); len(files) != 0 {
		t.Errorf("%v was delivered and is still there", files)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	again, past, _ := flaky(t, dir)
	defer again.Close()
	if len(past.Results) != 1 || past.Results[0].Measurement.StepTime != .5 || len(past.Submitted)+len(past.Interrupted) != 0 {
		t.Errorf("past = %+v", past)
	}
}

// A database that can be read but takes no writes, as on a full disk, is away
// until it takes one, and given up as one that does not answer.
func TestOutageOfWrites(t *testing.T) {
	d, _, _ := flaky(t, t.TempDir())
	defer d.Close()
	other := data.Config{Job: "job", Workers: 2}
	full := true
	d.mu.Lock()
	err := d.db.Callback().Raw().Before("gorm:raw").Register("full", func(tx *gorm.DB) {
		if full {
			_ = tx.AddError(errGone)
		}
	})
	d.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	since := func(ago time.Duration) time.Time {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.outage.next = time.Time{}
		if ago > 0 {
			d.outage.since = time.Now().Add(-ago)
		}
		return d.outage.since
	}
	if _, err := d.Begin(other); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("begun: %v", err)
	}
	began := since(0)
	if _, err := d.Changes(); err != nil || began.IsZero() || since(0) != began {
		t.Errorf("read: %v; the outage since %v is over", err, began)
	}
	since(giveUpAwait + time.Second)
	if _, err := d.Begin(other); err == nil || errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "has not answered for 15m") {
		t.Errorf("after 15 minutes: %v", err)
	}
	d.mu.Lock()
	full = false
	d.mu.Unlock()
	since(time.Minute)
	if _, err := d.Begin(other); err != nil || !since(0).IsZero() {
		t.Errorf("room again: %v, outage since %v", err, since(0))
	}
}

// The outbox of a profiler that died during an outage is delivered by the next,
// even with a damaged last line.
func TestNextRunDeliversWhatIsKept(t *testing.T) {
	dir := t.TempDir()
	d, _, away := flaky(t, dir)
	_, err := d.Begin(data.Config{Job: "job", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	away(true)
	if err := d.End(endOf(1, .25)); err != nil {
		t.Fatal(err)
	}
	// A dead process: no Close, and half a line.
	close(d.stop)
	d.stopped.Wait()
	path := d.outbox.path()
	d.outbox.file.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"event":"end","tri`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := d.disconnect(); err != nil {
		t.Fatal(err)
	}
	next, past, _ := flaky(t, dir)
	defer next.Close()
	if len(past.Results) != 1 || past.Results[0].Measurement.StepTime != .25 {
		t.Errorf("past = %+v, want what had been kept", past)
	}
	if text := strings.Join(past.Warnings, "\n"); !strings.Contains(text, "cut short") || !strings.Contains(text, "delivered") {
		t.Errorf("warnings: %s", text)
	}
	if files := undelivered(t, dir); len(files) != 0 {
		t.Errorf("%v was delivered and is still there", files)
	}
}

// A result delivered after another profiler ended the trial does not count.
func TestLateDeliveryDoesNotCountTwice(t *testing.T) {
	dir := t.TempDir()
	d, _, away := flaky(t, dir)
	defer d.Close()
	trial, err := d.Begin(data.Config{Job: "job", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	away(true)
	if err := d.End(endOf(1, .5)); err != nil {
		t.Fatal(err)
	}
	other, _, _ := flaky(t, dir)
	defer other.Close()
	d.mu.Lock()
	attempt := d.own[trial]
	d.mu.Unlock()
	other.mu.Lock()
	other.own[trial] = attempt // taken over
	other.mu.Unlock()
	if err := other.End(endOf(1, .75)); err != nil {
		t.Fatal(err)
	}
	answers(d, away)
	news, err := d.Changes()
	if err != nil || len(news) != 2 || news[0].Ended.Measurement.StepTime != .75 || !strings.Contains(news[1].Warning, "its result counts") {
		t.Errorf("news = %+v, %v; want the result that counts, and a warning", news, err)
	}
}

func TestOutageEndsForGood(t *testing.T) {
	var o outage
	first := o.count(ErrUnreachable, errGone)
	if !errors.Is(first, ErrUnreachable) || o.hold() == nil {
		t.Errorf("after the first failure: %v, then %v", first, o.hold())
	}
	for range 10 {
		o.count(ErrUnreachable, errGone)
	}
	if o.wait != lastWait {
		t.Errorf("waits %s, want at most %s", o.wait, lastWait)
	}
	o.since = time.Now().Add(-giveUpAwait - time.Second)
	if err := o.count(ErrUnreachable, errGone); !errors.Is(err, errGone) {
		t.Errorf("after %s: %v, want it given up", giveUpAwait, err)
	}
	if o.over(); o.hold() != nil || o.ended.IsZero() {
		t.Error("an outage that is over still holds")
	}
}

func TestPasswordsAreHidden(t *testing.T) {
	for _, storage := range []string{
		"postgres://u:s3cr%40t@h/db", "postgres://u@h/db?password=s3cr@t", "mysql://u:s3cr@t@h/db", "postgres://u:s3cr@t@h/db?sslpassword=s3cr@t#name",
	} {
		a, err := parseAddress(&data.Study{Storage: storage})
		if err != nil {
			t.Fatal(err)
		}
		text := a.wrap("connect to "+storage, errors.New("password s3cr@t of "+storage), nil).Error()
		for _, secret := range []string{"s3cr@t", "s3cr%40t"} {
			if strings.Contains(text, secret) || strings.Contains(a.label, secret) {
				t.Errorf("%s: %s; label %s", storage, text, a.label)
			}
		}
		if !strings.Contains(a.label, "h/db") {
			t.Errorf("label %s of %s says nothing", a.label, storage)
		}
	}
}

// A profiler whose host slept finds its trial taken over: the first to end it
// wins, and a failure of the other is ignored.
func TestDatabaseKeepsOneResultPerTrial(t *testing.T) {
	dir := t.TempDir()
	asleep, _, _ := flaky(t, dir)
	if _, err := asleep.Begin(data.Config{Job: "job", Workers: 1}); err != nil {
		t.Fatal(err)
	}
	other, _, _ := flaky(t, dir)
	defer other.Close()
	close(asleep.stop) // no heartbeat any more
	asleep.stopped.Wait()
	asleep.stop = make(chan struct{})
	defer asleep.Close()
	var u *Unfinished
	for end := time.Now().Add(time.Minute); u == nil && time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		var err error
		if u, err = other.Adopt(); err != nil {
			t.Fatal(err)
		}
	}
	if u == nil {
		t.Fatal("there was no trial to take over")
	}
	if u.Losses != 1 || u.Attempt != 2 {
		t.Errorf("taken over %+v, want one profiler lost, and a second attempt", u)
	}
	if err := asleep.Submitted(1, 1, "job-7"); !errors.Is(err, ErrTaken) {
		t.Errorf("a handle of a trial that was taken over: %v", err)
	}
	broken := Result{Trial: 1, Measurement: data.Measurement{Config: u.Config, Status: data.Failed, Error: "lost its way"}}
	if err := asleep.End(broken); !errors.Is(err, ErrTaken) {
		t.Errorf("a failure of a trial that was taken over: %v", err)
	}
	if err := other.End(endOf(1, .5)); err != nil {
		t.Error(err)
	}
	changes, err := asleep.Changes()
	if err != nil || len(changes) != 1 || changes[0].Ended == nil || changes[0].Ended.Measurement.StepTime != .5 {
		t.Errorf("changes = %+v, %v; want what the other measured", changes, err)
	}
}

// A result that the database refuses permanently, such as on a read-only disk,
// is kept in a file and in the error; only in the error if the file cannot be
// written.
func TestRefusedResultsAreToldAndKept(t *testing.T) {
	dir := t.TempDir()
	d, _, away := flaky(t, dir)
	defer d.Close()
	trial, err := d.Begin(data.Config{Job: "job", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.address.backend.temporary = func(error) bool { return false }
	d.mu.Unlock()
	away(true)
	for _, kept := range []bool{true, false} {
		if !kept {
			d.mu.Lock()
			d.outbox.prefix, d.outbox.file = filepath.Join(dir, "no such folder", "x"), nil
			d.own[trial] = 1
			d.mu.Unlock()
		}
		err := d.End(endOf(1, .125))
		if err == nil || !strings.Contains(err.Error(), `not recorded: {"event":"end","trial":1`) || !strings.Contains(err.Error(), `"step_time_s":0.125`) {
			t.Errorf("err = %v, want it to tell what was measured", err)
		}
		if strings.Contains(err.Error(), "it is kept in") != kept {
			t.Errorf("err = %v; kept: %v", err, kept)
		}
	}
	if files := undelivered(t, dir); len(files) != 1 {
		t.Errorf("files %v, want one with what is to be delivered", files)
	}
}

// Errors of the database are distinguished from a lost connection.
func TestErrorsAreClassified(t *testing.T) {
	for _, tc := range []struct {
		name      string
		err       error
		temporary bool
	}{
		{"connection refused", &net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{"connection cut", io.ErrUnexpectedEOF, true},
		{"took too long", context.DeadlineExceeded, true},
		{"another error", errors.New("unable to encode"), false},
		{"no such row", gorm.ErrRecordNotFound, false},
		{"PostgreSQL out of disk", &pgconn.PgError{Code: "53100"}, true},
		{"PostgreSQL read only", &pgconn.PgError{Code: "25006"}, false},
		{"MySQL deadlock", &mysql.MySQLError{Number: 1213}, true},
		{"MySQL no permission", &mysql.MySQLError{Number: 1142}, false},
	} {
		for kind, b := range map[string]backend{"PostgreSQL": backends()["postgres"], "MySQL": backends()["mysql"]} {
			if other := map[string]string{"PostgreSQL": "MySQL", "MySQL": "PostgreSQL"}[kind]; strings.HasPrefix(tc.name, other) {
				continue
			}
			if got := b.temporary(tc.err); got != tc.temporary {
				t.Errorf("%s: %s is temporary: %v, want %v", kind, tc.name, got, tc.temporary)
			}
		}
	}
}

// After an outage every profiler gets a whole lease: no heartbeat could be
// recorded.
func TestNothingIsTakenOverAfterAnOutage(t *testing.T) {
	dir := t.TempDir()
	asleep, _, _ := flaky(t, dir)
	if _, err := asleep.Begin(data.Config{Job: "job", Workers: 1}); err != nil {
		t.Fatal(err)
	}
	close(asleep.stop) // no heartbeat any more
	asleep.stopped.Wait()
	asleep.stop = make(chan struct{})
	defer asleep.Close()
	other, _, _ := flaky(t, dir)
	defer other.Close()
	time.Sleep(2 * other.lease)
	other.mu.Lock()
	other.outage.ended = time.Now().Add(time.Hour)
	other.mu.Unlock()
	if u, err := other.Adopt(); u != nil || err != nil {
		t.Errorf("taken over %+v, %v, so soon after an outage", u, err)
	}
	other.mu.Lock()
	other.outage.ended = time.Now().Add(-2 * time.Hour)
	other.mu.Unlock()
	if u, err := other.Adopt(); u == nil || err != nil {
		t.Errorf("taken over %+v, %v, a lease after an outage", u, err)
	}
}
