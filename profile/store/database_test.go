package store

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gosqlite "github.com/glebarez/go-sqlite"
	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"knee/bayesopt"
	"knee/data"
)

// dialed makes the connection of an address.
func dialed(storage string) (gorm.Dialector, error) {
	a, err := parseAddress(&data.Study{Storage: storage})
	if err != nil {
		return nil, err
	}
	return a.backend.open(a, func(path string) string { return path })
}

// An address becomes the driver's, with its parameters.
func TestAddressOfMySQL(t *testing.T) {
	for address, want := range map[string]string{
		"mysql://u:p%40@h/db":                        "u:p@@tcp(h:3306)/db",
		"mysql://u@h:3307/db":                        "u@tcp(h:3307)/db",
		"mysql://u:p@/db?socket=/run/s.sock":         "u:p@unix(/run/s.sock)/db",
		"mysql://u@h/db?collation=utf8mb4_bin&tls=x": "found parameters that the driver does not accept",
		"mysql://u@h":                                "found no database",
		"mysql://u@h:port/db":                        "found an address that is not a URL",
	} {
		dialector, err := dialed(address)
		if strings.HasPrefix(want, "found") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", address, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		c, err := driver.ParseDSN(dialector.(*mysql.Dialector).DSN)
		if got := fmt.Sprintf("%s@%s(%s)/%s", strings.TrimSuffix(c.User+":"+c.Passwd, ":"), c.Net, c.Addr, c.DBName); err != nil || got != want || !c.ParseTime || c.Timeout != 10*time.Second {
			t.Errorf("%s: %s, %v, timeout %s; want %s", address, got, err, c.Timeout, want)
		}
	}
	dialector, err := dialed("mysql://u@h/db?collation=utf8mb4_bin")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := driver.ParseDSN(dialector.(*mysql.Dialector).DSN); err != nil || c.Collation != "utf8mb4_bin" {
		t.Errorf("collation %v, %v", c, err)
	}
}

func TestAddressOfPostgreSQL(t *testing.T) {
	dialector, err := dialed("postgres://u@h/db?connect_timeout=3")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dialector.(*postgres.Dialector).DSN, "postgres://u@h/db?application_name=knee&client_encoding=UTF8&connect_timeout=3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := dialed("postgres://u@h:port/db"); err == nil || !strings.Contains(err.Error(), "not a URL") {
		t.Errorf("err = %v", err)
	}
	if !postgresTemporary(&pgconn.ConnectError{}) || !postgresTemporary(safe{}) {
		t.Error("a connection that could not be made is worth another attempt")
	}
}

// safe is an error of pgx before anything was sent.
type safe struct{}

func (safe) Error() string     { return "not sent" }
func (safe) SafeToRetry() bool { return true }

func TestAddressOfSQLite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"sqlite:" + dir + "/a.db": "", "sqlite://" + dir + "/a.db": "", "sqlite:" + dir + "/a?b.db": "found a ?",
		"sqlite:" + dir + "/no/a.db": "is not there", "sqlite:" + file + "/a.db": "is not there",
	} {
		if _, err := dialed(address); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

// opened opens a study in a file, as flaky does, with a lease.
func opened(t *testing.T, dir string, lease time.Duration) (*Database, error) {
	t.Helper()
	s := &data.Study{Job: "job", Command: []string{"train"}, Storage: "sqlite:" + filepath.Join(dir, "study.db")}
	d, _, err := openDatabase(t.Context(), s, Options{Outbox: filepath.Join(dir, "study.undelivered"), Lease: lease,
		Candidates: []data.Config{{Job: "job", Workers: 1}}, Search: bayesopt.Options{Objective: bayesopt.StepTime}})
	return d, err
}

// The heartbeat keeps trials from being taken over; the default lease applies.
func TestHeartbeat(t *testing.T) {
	dir := t.TempDir()
	d, err := opened(t, dir, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Begin(data.Config{Job: "job", Workers: 1}); err != nil {
		t.Fatal(err)
	}
	beat := func() (v float64) {
		d.mu.Lock()
		defer d.mu.Unlock()
		var row trialRow
		if err := d.db.First(&row).Error; err != nil {
			t.Fatal(err)
		}
		return row.Beat
	}
	first := beat()
	for end := time.Now().Add(30 * time.Second); beat() == first; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is heard of a profiler that lives")
		}
	}
	other, err := opened(t, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if other.lease != DefaultLease {
		t.Errorf("lease %s, want %s", other.lease, DefaultLease)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := other.db.Exec("SELECT 1").Error; err == nil {
		t.Error("a storage that is closed still answers")
	}
	host, _ := os.Hostname()
	if !strings.HasPrefix(other.owner, host) || other.owner == d.owner {
		t.Errorf("profilers %q and %q", d.owner, other.owner)
	}
}

// testClock gives SQLite the clock of Go, which may be that of a synctest.
var testClock = sync.OnceValue(func() error {
	return gosqlite.RegisterScalarFunction("test_clock", 0, func(*gosqlite.FunctionContext, []sqldriver.Value) (sqldriver.Value, error) {
		return float64(time.Now().UnixNano()) / 1e9, nil
	})
})

// The trials of a live profiler are not taken over, however long they last;
// those of a dead one are, once its lease is over. The database's clock is that
// of the test.
func TestLease(t *testing.T) { synctest.Test(t, testLease) }

func testLease(t *testing.T) {
	if err := testClock(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var both [2]*Database
	for i := range both {
		d, err := opened(t, dir, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		d.address.backend.now = "test_clock()"
		d.mu.Unlock()
		both[i] = d
	}
	if _, err := both[0].Begin(data.Config{Job: "job", Workers: 1}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // from here on the test asks between heartbeats
	for range 500 {
		time.Sleep(time.Second)
		if u, err := both[1].Adopt(); u != nil || err != nil {
			t.Fatalf("took over %+v, %v", u, err)
		}
	}
	if err := both[0].Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(61 * time.Second)
	if u, err := both[1].Adopt(); u == nil || err != nil {
		t.Errorf("took over %+v, %v; want the trial", u, err)
	}
	if err := both[1].Close(); err != nil {
		t.Error(err)
	}
}

// await waits for a database that does not answer and reports that once; it
// returns other errors, and the end of the wait.
func TestAwait(t *testing.T) { synctest.Test(t, testAwait) }

func testAwait(t *testing.T) {
	var said []error
	away := func(err error) { said = append(said, err) }
	down := 2
	do := func() error {
		if down--; down >= 0 {
			return ErrUnreachable
		}
		return nil
	}
	d := &Database{}
	if err := d.await(t.Context(), away, do); err != nil || len(said) != 2 || !errors.Is(said[0], ErrUnreachable) || said[1] != nil {
		t.Errorf("%v, said %v; want it away and back", err, said)
	}
	said = nil
	if err := d.await(t.Context(), away, func() error { return errGone }); err != errGone || len(said) != 0 {
		t.Errorf("%v, said %v; want the error and nothing said", err, said)
	}
	down = 1
	if err := d.await(t.Context(), nil, do); err != nil {
		t.Error(err)
	}
	down = 1
	if err := d.await(t.Context(), away, func() error {
		if err := do(); err != nil {
			return err
		}
		return errGone
	}); err != errGone || len(said) != 1 {
		t.Errorf("%v, said %v; want it away and an error", err, said)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	if err := d.await(ctx, nil, func() error { return ErrUnreachable }); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "told to stop") {
		t.Errorf("err = %v, want why it ended", err)
	}
}

// Tables are created once, under the lock of the backend. A temporary failure
// is retried.
func TestMakeTables(t *testing.T) {
	for _, tc := range []struct {
		name, lock, unlock string
		temporary          bool
		want               error
	}{
		{"locked", "CREATE TABLE locked (x)", "CREATE TABLE unlocked (x)", false, nil},
		{"no lock", "", "", false, nil},
		{"cannot lock", "LOCK ME", "", false, nil},
		{"busy", "LOCK ME", "", true, ErrUnreachable},
		{"cannot unlock", "", "UNLOCK ME", false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := backends()["sqlite"]
			dialector, err := dialed("sqlite:" + filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			b.lock, b.unlock, b.temporary = tc.lock, tc.unlock, func(error) bool { return tc.temporary }
			d := &Database{address: address{backend: b, label: "a.db"}}
			if d.db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}); err != nil {
				t.Fatal(err)
			}
			defer d.disconnect()
			err = d.makeTables()
			if fails := strings.HasSuffix(tc.lock, "ME") || strings.HasSuffix(tc.unlock, "ME"); (err != nil) != fails || errors.Is(err, ErrUnreachable) != (tc.want != nil) {
				t.Fatalf("err = %v", err)
			}
			if there := d.db.Migrator().HasTable(&trialRow{}); there != (err == nil) {
				t.Errorf("tables are there: %v, %v", there, err)
			}
			for _, table := range []string{"locked", "unlocked"} {
				if there := d.db.Migrator().HasTable(table); there != (tc.lock != "" && err == nil) {
					t.Errorf("%s: %v", table, there)
				}
			}
			if d.address.backend.lock = "LOCK ME"; err == nil && d.makeTables() != nil {
				t.Error("tables that are there are made again")
			}
		})
	}
}

// A study of a newer version or of another program is refused.
func TestStudyOfAnother(t *testing.T) {
	for _, tc := range []struct{ sql, want string }{
		{fmt.Sprintf("UPDATE knee_studies SET version = %d", tablesVersion+1), "of version 2"},
		{fmt.Sprintf("UPDATE knee_studies SET version = %d", tablesVersion), ""},
		{"DELETE FROM knee_studies", "that knee profile did not begin"},
	} {
		dir := t.TempDir()
		d, err := opened(t, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.db.Exec(tc.sql).Error, d.Close()); err != nil {
			t.Fatal(err)
		}
		again, err := opened(t, dir, 0)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.sql, err, tc.want)
		}
		if again != nil {
			again.Close()
		}
	}
}

// goptuna's tools can see a trial's configuration and error.
func TestAttributes(t *testing.T) {
	d, err := opened(t, t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := data.Config{Job: "job", Workers: 1}
	trial, err := d.Begin(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Begin(data.Config{Job: "job", Workers: 5}); err == nil || !strings.Contains(err.Error(), "is not a candidate") {
		t.Errorf("a configuration outside the study: %v", err)
	}
	var row trialRow
	if err := d.Submitted(trial, 2, "job-7"); err != nil || d.db.First(&row).Error != nil || row.Handle != "job-7" || row.Attempt != 2 {
		t.Errorf("%v, recorded %+v; want attempt 2 as job-7", err, row)
	}
	long := strings.Repeat("ä", attributeLimit)
	if err := d.End(Result{Trial: trial, Measurement: data.Measurement{Config: c, Status: data.Failed, Error: long + "b"}}); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	err = d.do("read", func(*gorm.DB) (err error) { got, err = d.goptuna.GetTrialUserAttrs(1); return err })
	if err != nil || got["config"] != c.String() || got["profiler"] != d.owner || got["error"] != long[:len(long)-len("ä")]+"…" {
		t.Errorf("%v, %v", got, err)
	}
	if cut(long) != long {
		t.Error("a text that fits is cut")
	}
	if err := d.End(endOf(1, 1)); !errors.Is(err, ErrTaken) {
		t.Errorf("ended twice: %v", err)
	}
}

// The error for an invalid row names its trial.
func TestSpoiltRows(t *testing.T) {
	for _, tc := range []struct{ sql, want string }{
		{"UPDATE knee_trials SET config = 'x', revision = 99", `found "x", want a configuration`},
		{"UPDATE knee_trials SET state = 'ended', record = '{}', revision = 99", `found "{}", want what a trial yielded`},
		{"UPDATE knee_trials SET state = 'ended', record = 'x', revision = 99", `found "x", want what a trial yielded`},
		{`UPDATE knee_trials SET state = 'ended', record = '{"event":"end","trial":1,"measurement":{"job":"b","workers":1,"status":"oom"}}', revision = 99`, `found job "b", want what a trial yielded`},
	} {
		dir := t.TempDir()
		d, err := opened(t, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		other, err := opened(t, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Begin(data.Config{Job: "job", Workers: 1}); err != nil {
			t.Fatal(err)
		}
		if err := d.db.Exec(tc.sql).Error; err != nil {
			t.Fatal(err)
		}
		if _, err := other.Changes(); err == nil || !strings.Contains(err.Error(), "study.db: trial 1: "+tc.want) {
			t.Errorf("%s: %v, want %s", tc.sql, err, tc.want)
		}
		if strings.Contains(tc.sql, "config") {
			if err := d.db.Exec("UPDATE knee_trials SET beat = 0").Error; err != nil {
				t.Fatal(err)
			}
			if u, err := other.Adopt(); err == nil || u != nil || len(other.own) != 0 {
				t.Errorf("took over %+v, %v, %v", u, other.own, err)
			}
		}
		other.Close()
		d.Close()
	}
}

// Outboxes of another study or storage are left alone.
func TestOutboxOfAnother(t *testing.T) {
	for _, change := range []func(*entry){func(e *entry) { e.Storage = "sqlite:other.db" }, func(e *entry) { e.StudyID = 9 }} {
		dir := t.TempDir()
		d, err := opened(t, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		e := endEntry(endOf(1, .5))
		e.Storage, e.StudyID, e.Owner, e.TrialID = d.outbox.storage, d.study, "another", 1
		change(&e)
		box := &outbox{prefix: d.outbox.prefix, owner: "host, process 1, abc"}
		if err := box.keep(e); err != nil {
			t.Fatal(err)
		}
		if want := d.outbox.prefix + "-abc.jsonl"; box.path() != want {
			t.Errorf("kept in %s, want %s", box.path(), want)
		}
		box.file.Close()
		if err := d.deliverOld(); err != nil || len(d.warnings) != 1 || !strings.Contains(d.warnings[0], "holds results for") {
			t.Errorf("%v, %q", err, d.warnings)
		}
		if files := undelivered(t, dir); len(files) != 1 {
			t.Errorf("files %v, want what is of another left", files)
		}
		d.Close()
	}
}

// Of two that take over a trial at once the second gets none.
func TestAnotherWasQuicker(t *testing.T) {
	dir := t.TempDir()
	d, err := opened(t, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Begin(data.Config{Job: "job", Workers: 1}); err != nil {
		t.Fatal(err)
	}
	if err := d.db.Exec("UPDATE knee_trials SET beat = 0").Error; err != nil {
		t.Fatal(err)
	}
	other, err := opened(t, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	quicker := false
	if err := other.db.Callback().Raw().Before("gorm:raw").Register("quicker", func(tx *gorm.DB) {
		if !quicker && strings.HasPrefix(tx.Statement.SQL.String(), "UPDATE knee_trials SET owner") {
			quicker = true
			_ = tx.AddError(tx.Session(&gorm.Session{NewDB: true}).Exec("UPDATE knee_trials SET owner = 'third'").Error)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if u, err := other.Adopt(); u != nil || err != nil || !quicker {
		t.Errorf("took over %+v, %v, after another: %v", u, err, quicker)
	}
}
