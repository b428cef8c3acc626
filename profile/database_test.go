package profile_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"knee/data"
	"knee/profile"
	"knee/profile/launch"
	"knee/profile/space"
	"knee/profile/store"
)

// shortLease lets the trials of dead profilers expire quickly.
const shortLease = 150 * time.Millisecond

// sharedRunner opens a study of 1…n workers whose storage is a file in dir.
// Each profiler has a folder of its own, as on another host.
func sharedRunner(t *testing.T, dir, host string, n int, l launch.Launcher) *profile.Runner {
	t.Helper()
	return leasedRunner(t, dir, host, n, shortLease, l)
}

func leasedRunner(t *testing.T, dir, host string, n int, lease time.Duration, l launch.Launcher) *profile.Runner {
	t.Helper()
	s := studyOf(ranged("workers", 1, float64(n), "linear"))
	s.Command = []string{"train"}
	s.Launcher.Local = &data.LocalSpec{}
	s.Trial = data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 600, RelPrecision: .02, Timeout: time.Minute, Retries: 1}
	s.Storage = "sqlite:" + filepath.Join(dir, "study.db")
	candidates, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := profile.Open(t.Context(), s, profile.FilesBeside("study.yaml", filepath.Join(dir, host)), profile.Settings{Only: candidates, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	r.Launcher = l
	return r
}

// numbers returns the workers of every measurement, sorted.
func numbers(ms []data.Measurement) []int {
	var n []int
	for _, m := range ms {
		n = append(n, m.Workers)
	}
	slices.Sort(n)
	return n
}

func upTo(n int) []int {
	var all []int
	for i := 1; i <= n; i++ {
		all = append(all, i)
	}
	return all
}

func TestDatabaseIsSharedByProfilers(t *testing.T) {
	const n, profilers = 12, 3
	dir := t.TempDir()
	f := &fake{script: linear}
	results := make([]profile.Result, profilers)
	runners := make([]*profile.Runner, profilers)
	for i := range profilers {
		runners[i] = leasedRunner(t, dir, fmt.Sprint("host", i), n, time.Minute, f)
	}
	var wg sync.WaitGroup
	for i, r := range runners {
		wg.Go(func() {
			res, err := r.Run(t.Context())
			results[i] = res
			if err := errors.Join(err, r.Storage.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(f.launched) != n {
		t.Errorf("%d trials were launched for %d configurations", len(f.launched), n)
	}
	ids := map[int]bool{}
	for _, l := range f.launched {
		ids[l.ID] = true
	}
	if len(ids) != n || !ids[1] || !ids[n] {
		t.Errorf("trials are numbered %v, want 1 to %d, each once", ids, n)
	}
	for i, res := range results {
		if got := numbers(res.Measurements); !slices.Equal(got, upTo(n)) {
			t.Errorf("profiler %d knows measurements of %v workers, want 1 to %d", i, got, n)
		}
		if len(res.Curves) == 0 {
			t.Errorf("profiler %d knows no curves", i)
		}
	}
}

// refusing is a storage that can be read, but refuses the first trials, as on a
// full disk.
type refusing struct {
	store.Storage
	left int
}

func (r *refusing) Poll() time.Duration { return 5 * time.Millisecond }

func (r *refusing) Begin(c data.Config) (int, error) {
	if r.left--; r.left >= 0 {
		return 0, fmt.Errorf("disk full: %w", store.ErrUnreachable)
	}
	return r.Storage.Begin(c)
}

// A storage that refuses trials is reported once, and so is its return.
func TestRefusedTrialsAreReportedOnce(t *testing.T) {
	r := sharedRunner(t, t.TempDir(), "host", 2, &fake{script: linear})
	r.Storage = &refusing{Storage: r.Storage, left: 5}
	var said []profile.EventKind
	r.Notify = func(e profile.Event) {
		if e.Kind == profile.StorageLost || e.Kind == profile.StorageBack {
			said = append(said, e.Kind)
		}
	}
	res, err := r.Run(t.Context())
	if err := errors.Join(err, r.Storage.Close()); err != nil {
		t.Fatal(err)
	}
	if want := []profile.EventKind{profile.StorageLost, profile.StorageBack}; !slices.Equal(said, want) || len(res.Measurements) != 2 {
		t.Errorf("reported %v and %d measurements, want %v and 2", said, len(res.Measurements), want)
	}
}

func TestDatabaseSharesTheBudget(t *testing.T) {
	dir := t.TempDir()
	f := &fake{script: linear}
	var wg sync.WaitGroup
	for i := range 2 {
		r := leasedRunner(t, dir, fmt.Sprint("host", i), 9, time.Minute, f)
		r.Study.Budget.Trials = 5
		wg.Go(func() {
			res, err := r.Run(t.Context())
			if err := errors.Join(err, r.Storage.Close()); err != nil || len(res.Measurements) != 5 {
				t.Errorf("%d measurements, %v; want those of all 5 trials", len(res.Measurements), err)
			}
		})
	}
	wg.Wait()
	if len(f.launched) != 5 {
		t.Errorf("%d trials were launched on a budget of 5", len(f.launched))
	}
}

func TestDatabaseGoesOn(t *testing.T) {
	dir := t.TempDir()
	f := &fake{script: linear}
	r := sharedRunner(t, dir, "a", 4, f)
	r.Study.Budget.Trials = 2
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Storage.Close()
	r = sharedRunner(t, dir, "b", 4, f)
	defer r.Storage.Close()
	if rs := r.Snapshot.Results; len(rs) != 2 || len(rs[0].Curve) == 0 || rs[1].Measurement.StepTime != 2 {
		t.Fatalf("snapshot = %+v", r.Snapshot)
	}
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "ok ok ok ok" || len(f.launched) != 4 {
		t.Errorf("%s after %d launches, %v", statuses(res.Measurements), len(f.launched), err)
	}
}

// The trial of a dead profiler is measured by another under the same number,
// and no trial is measured twice.
func TestDatabaseTakesOverTheTrialsOfTheDead(t *testing.T) {
	dir := t.TempDir()
	f := &fake{script: linear}
	dead := sharedRunner(t, dir, "dead", 3, f)
	trial, err := dead.Storage.Begin(dead.Candidates[0])
	if err != nil || trial != 1 {
		t.Fatalf("began trial %d, %v", trial, err)
	}
	dead.Storage.Close() // no further heartbeat
	r := sharedRunner(t, dir, "alive", 3, f)
	defer r.Storage.Close()
	var adopted []launch.Trial
	r.Notify = func(e profile.Event) {
		if e.Kind == profile.TrialAdopted {
			adopted = append(adopted, e.Trial)
		}
	}
	res, err := r.Run(t.Context())
	if err != nil || !slices.Equal(numbers(res.Measurements), upTo(3)) {
		t.Errorf("measured %v, %v", numbers(res.Measurements), err)
	}
	if len(adopted) != 1 || adopted[0].ID != 1 || adopted[0].Attempt != 2 || adopted[0].Config.Workers != 1 {
		t.Errorf("took over %+v, want trial 1 for its second attempt", adopted)
	}
}

// A trial whose profilers keep dying is recorded as failed.
func TestDatabaseGivesUpATrialThatKills(t *testing.T) {
	dir := t.TempDir()
	f := &fake{script: linear}
	for i := range 3 {
		r := sharedRunner(t, dir, fmt.Sprint("host", i), 1, f)
		var err error
		if i == 0 {
			_, err = r.Storage.Begin(r.Candidates[0])
		} else {
			_, err = adopt(r.Storage)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Storage.Close() // dies
	}
	r := sharedRunner(t, dir, "last", 1, f)
	defer r.Storage.Close()
	res, err := r.Run(t.Context())
	if err != nil || statuses(res.Measurements) != "failed" || len(f.launched) != 0 || !strings.Contains(res.Measurements[0].Error, "3 profilers died") {
		t.Errorf("%+v after %d launches, %v", res.Measurements, len(f.launched), err)
	}
}

// adopt waits until there is a trial to take over.
func adopt(s store.Storage) (*store.Unfinished, error) {
	for range 200 {
		if u, err := s.Adopt(); u != nil || err != nil {
			return u, err
		}
		time.Sleep(shortLease / 5)
	}
	return nil, errors.New("there was no trial to take over")
}

func TestDatabaseRefusesWhatIsOutOfDate(t *testing.T) {
	dir := t.TempDir()
	a, b := sharedRunner(t, dir, "a", 2, nil), sharedRunner(t, dir, "b", 2, nil)
	defer a.Storage.Close()
	defer b.Storage.Close()
	if _, err := a.Storage.Begin(a.Candidates[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Storage.Begin(b.Candidates[0]); !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("began a trial without having seen the one before: %v", err)
	}
	news, err := b.Storage.Changes()
	if err != nil || len(news) != 1 || news[0].Trial != 1 || news[0].Config.Workers != 1 || news[0].Ended != nil {
		t.Errorf("news = %+v, %v", news, err)
	}
	if trial, err := b.Storage.Begin(b.Candidates[1]); err != nil || trial != 2 {
		t.Errorf("began trial %d, %v; want 2", trial, err)
	}
}

// follower is a launcher of an engine whose jobs outlive their profiler.
type follower struct {
	fake
	queue time.Duration
}

func (f *follower) Launch(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error {
	if t.Handle == "" {
		if err := t.Submitted(fmt.Sprintf("job-%d", t.ID)); err != nil {
			return err
		}
	}
	time.Sleep(f.queue)
	t.Began(time.Now())
	return f.fake.Launch(ctx, t, obs)
}

// A submitted job is followed after a restart, by the first profiler to adopt
// it, with every kind of storage.
func TestSubmittedTrialsAreFollowed(t *testing.T) {
	open := map[string]func(t *testing.T, dir string, l launch.Launcher) *profile.Runner{
		"journal": func(t *testing.T, dir string, l launch.Launcher) *profile.Runner { return newRunner(t, dir, 3, l) },
		"database": func(t *testing.T, dir string, l launch.Launcher) *profile.Runner {
			return sharedRunner(t, dir, "", 3, l)
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := &follower{fake: fake{script: linear}}
			r := open(t, dir, f)
			trial, err := r.Storage.Begin(r.Candidates[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Storage.Submitted(trial, 2, "job-77"); err != nil {
				t.Fatal(err)
			}
			r.Storage.Close()
			r = open(t, dir, f)
			res, err := r.Run(t.Context())
			if err := errors.Join(err, r.Storage.Close()); err != nil {
				t.Fatal(err)
			}
			if got := numbers(res.Measurements); !slices.Equal(got, upTo(3)) {
				t.Errorf("measured %v", got)
			}
			i := slices.IndexFunc(f.launched, func(l launch.Trial) bool { return l.Handle != "" })
			if len(f.launched) != 3 || i < 0 || f.launched[i].Handle != "job-77" || f.launched[i].ID != trial || f.launched[i].Attempt != 2 || f.launched[i].Config.Workers != 2 {
				t.Errorf("launched %+v; want trial %d followed as job-77", f.launched, trial)
			}
		})
	}
}

func TestDatabaseRefusesOtherStudies(t *testing.T) {
	dir := t.TempDir()
	r := sharedRunner(t, dir, "", 2, nil)
	r.Storage.Close()
	files := profile.FilesBeside("study.yaml", dir)
	for _, tc := range []struct {
		name   string
		change func(*data.Study, *profile.Settings)
		want   string
	}{
		{"another command", func(s *data.Study, _ *profile.Settings) { s.Command = []string{"other"} }, `want that of {"job":"job","command":["other"]}; for another study append #NAME`},
		{"another objective", func(s *data.Study, _ *profile.Settings) { s.Objective.Minimize = "step_time" }, "whose objective is throughput, want step_time"},
		{"restart", func(_ *data.Study, o *profile.Settings) { o.Restart = true }, "--restart of a study that is shared"},
		{"no folder", func(s *data.Study, _ *profile.Settings) { s.Storage = "sqlite:" + dir + "/no/where.db" }, "is not there"},
		{"not a database", func(s *data.Study, _ *profile.Settings) { s.Storage = "sqlite:database_test.go" }, "not a database"},
		{"unknown", func(s *data.Study, _ *profile.Settings) { s.Storage = "redis://u:secret@h/1" }, "want journal, or an address"},
		{"not a URL", func(s *data.Study, _ *profile.Settings) { s.Storage = "postgres://u:secret@h:port/1" }, "not a URL"},
		{"nobody there", func(s *data.Study, _ *profile.Settings) { s.Storage = "postgres://u:se%63ret@127.0.0.1:1/x" }, "cannot be reached"},
		{"nobody there either", func(s *data.Study, _ *profile.Settings) { s.Storage = "mysql://u:secret@127.0.0.1:1/x" }, "cannot be reached"},
		{"no name", func(s *data.Study, _ *profile.Settings) { s.Storage = "mysql://u:secret@127.0.0.1:1" }, "found no database"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := *r.Study
			o := profile.Settings{Only: r.Candidates}
			tc.change(&s, &o)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // who does not answer is waited for
			defer cancel()
			_, err := profile.Open(ctx, &s, files, o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("err = %v, want …%s…, and no password", err, tc.want)
			}
		})
	}
	// Under another name it is a study of its own.
	s := *r.Study
	s.Command = []string{"other"}
	s.Storage += "#second"
	again, err := profile.Open(t.Context(), &s, files, profile.Settings{Only: r.Candidates})
	if err != nil {
		t.Fatal(err)
	}
	again.Storage.Close()
}
