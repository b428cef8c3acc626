package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"knee/data"
	"knee/profile/launch"
	"knee/profile/space"
	"knee/profile/store"
)

// Files names the files of a study.
type Files struct {
	Journal      string // JSON lines; Measurements and Curves are written from it
	Measurements string // measurements.csv
	Curves       string // curve.csv
	Logs         string // folder with the output of every trial
	Outbox       string // prefix of the files with results that a shared storage did not receive yet
}

// FilesBeside returns the files of a study, beside it or in dir, named after it.
func FilesBeside(study, dir string) Files {
	base := strings.TrimSuffix(filepath.Base(study), filepath.Ext(study))
	in := func(suffix string) string { return filepath.Join(cmp.Or(dir, filepath.Dir(study)), base+suffix) }
	return Files{in(".journal.jsonl"), in(".measurements.csv"), in(".curve.csv"), in(".logs"), in(".undelivered")}
}

// Settings says how to run a study; the zero value is the default.
type Settings struct {
	Search
	// Only, if not empty, are the configurations to measure, in order, each once.
	Only    []data.Config
	Restart bool          // set the journal aside and begin again
	Lease   time.Duration // of a shared study; 0 means [store.DefaultLease]
	// Self is the path of knee: it replaces "knee" in commands, and runs the watchdog that ends
	// the trials if this process is killed. Empty means no watchdog.
	Self   string
	Notify func(Event)     // may be nil
	Drain  <-chan struct{} // when closed, running trials finish and none is started; may be nil

	watchdog *launch.Watchdog
}

// Run measures a study and writes its files after every trial. Errors in the study come
// before anything is launched; every error comes with the measurements so far.
func Run(ctx context.Context, s *data.Study, f Files, o Settings) (res Result, err error) {
	if o.watchdog, err = launch.StartWatchdog(o.Self, "guard"); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, o.watchdog.Close()) }()
	r, err := Open(ctx, s, f, o)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.Storage.Close()) }()
	r.notify(Event{Kind: StudyOpened, Snapshot: r.Snapshot})
	r.cancelOrphans(ctx)
	res, err = r.Run(ctx)
	return res, errors.Join(err, f.Save(res))
}

// checkLaunches fails with a *data.InputError if the command cannot be rendered for a
// candidate, or if the folder of local trials is missing. A replay has neither.
func checkLaunches(s *data.Study, candidates []data.Config) error {
	if s.Launcher.Replay != nil {
		return nil
	}
	for _, c := range candidates {
		if _, err := data.RenderCommand(s.Command, c, s.Source); err != nil {
			return err
		}
	}
	if s.Launcher.Local == nil || s.Dir == "" { // other launchers open it on their nodes
		return nil
	}
	if folder, err := os.Stat(s.Source.Beside(s.Dir)); err != nil || !folder.IsDir() {
		at := s.Source
		at.Column = "dir"
		return &data.InputError{Source: at, Found: strconv.Quote(s.Dir), Want: "an existing folder, relative to the study file"}
	}
	return nil
}

// Open prepares a study for [Runner.Run], for callers that change parts of [Run]. The caller
// closes the storage.
func Open(ctx context.Context, s *data.Study, f Files, o Settings) (*Runner, error) {
	candidates, err := o.Only, error(nil)
	if len(candidates) == 0 {
		candidates, err = space.Candidates(s)
	}
	if err != nil {
		return nil, err
	}
	if err := checkLaunches(s, candidates); err != nil {
		return nil, err
	}
	launcher, err := launch.New(s, o.watchdog)
	if err != nil {
		return nil, err
	}
	r := &Runner{Study: s, Candidates: candidates, Launcher: launcher, LogDir: f.Logs, Self: o.Self, Notify: o.Notify, Drain: o.Drain, Save: f.Save}
	if r.Strategy, err = NewStrategy(s, o.Search, r.Efficiency); err != nil {
		return nil, err
	}
	if len(o.Only) > 0 {
		r.Strategy = List{}
	}
	options, err := searchOptions(s, r.Efficiency)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(f.Measurements)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder %s for the measurements: %w", folder, err)
	}
	ctx, stop := untilDrained(ctx, o.Drain)
	defer stop()
	away := func(err error) {
		r.notify(Event{Kind: map[bool]EventKind{true: StorageBack, false: StorageLost}[err == nil], Err: err})
	}
	r.Storage, r.Snapshot, err = store.Open(ctx, s, store.Options{Journal: f.Journal, Outbox: f.Outbox, Restart: o.Restart, Lease: o.Lease,
		Candidates: candidates, Search: options, Away: away})
	if err != nil {
		return nil, err
	}
	if r.Snapshot.Run > 1 { // jobs of an older run may still write to its logs
		r.LogDir = filepath.Join(f.Logs, fmt.Sprintf("run-%d", r.Snapshot.Run))
	}
	return r, nil
}

func untilDrained(ctx context.Context, drain <-chan struct{}) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-drain:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Save writes the measurements and the training curves of a study.
func (f Files) Save(r Result) error {
	err := data.WriteFile(f.Measurements, func(w io.Writer) error { return data.WriteMeasurements(w, r.Measurements) })
	if len(r.Curves) == 0 {
		return err
	}
	return errors.Join(err, data.WriteFile(f.Curves, func(w io.Writer) error { return data.WriteCurve(w, r.Curves) }))
}

var errRestarted = errors.New("the study was begun again")

// cancelOrphans cancels jobs of the run before: a launcher with an ended context does.
func (r *Runner) cancelOrphans(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(errRestarted)
	for _, u := range r.Snapshot.Orphans {
		t, err := r.trialOf(u.Trial, u.Attempt, u.Config)
		if err == nil {
			t.Handle, t.Log = u.Handle, filepath.Join(os.TempDir(), fmt.Sprintf("knee-%d-cancelled.log", os.Getpid()))
			err = r.Launcher.Launch(ctx, t, make(chan launch.Observation, 1024))
			os.Remove(t.Log)
		}
		said := fmt.Sprintf("cancelled job %s, trial %d of the run before", u.Handle, u.Trial)
		if err != nil && err != errRestarted {
			said = fmt.Sprintf("job %s of the run before could not be cancelled: %v", u.Handle, err)
		}
		r.notify(Event{Kind: Warned, Warning: said})
	}
}
