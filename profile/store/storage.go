package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"knee/bayesopt"
	"knee/data"
)

// Storage is the record of a study: a [Journal] has one profiler; a [Database] is shared by
// several. When a method returns nil, its record is durable. Methods may be called at once.
type Storage interface {
	// Begin records that a trial of c will be launched, and returns its number. If another one
	// began that Changes has not reported, nothing is recorded and the error is ErrOvertaken.
	Begin(c data.Config) (trial int, err error)
	// Submitted records the engine's handle of an attempt of a trial.
	Submitted(trial, attempt int, handle string) error
	// End records a result. The error is ErrTaken if another profiler has the trial.
	End(e Result) error
	// Adopt takes over a running trial whose profiler died; nil if there is none.
	Adopt() (*Unfinished, error)
	// Changes returns, in order, what other profilers recorded since the last call.
	Changes() ([]Change, error)
	// Poll is the interval at which to call Changes; 0 if there are no other profilers.
	Poll() time.Duration
	Close() error
}

var (
	// ErrOvertaken says that another profiler began a trial since the last Changes.
	ErrOvertaken = errors.New("another profiler has begun a trial meanwhile")
	// ErrTaken says that a trial belongs to another profiler now.
	ErrTaken = errors.New("another profiler has taken the trial over")
	// ErrUnreachable says that the database does not answer; retry later.
	ErrUnreachable = errors.New("the database does not answer")
)

// Result is the result of a trial.
type Result struct {
	Trial       int
	Measurement data.Measurement
	Curve       []data.CurvePoint
	Queued      time.Duration // waiting for nodes, not in Measurement.Wall
}

// Unfinished is a trial that began but did not end.
type Unfinished struct {
	Trial   int
	Attempt int // number of the next launch, or of the submitted one
	Config  data.Config
	Handle  string // the engine's, if it was submitted: it is followed, not launched again
	Losses  int    // profilers that died while running it
}

// Change is what another profiler did with a trial, or a warning.
type Change struct {
	Trial   int
	Config  data.Config
	Ended   *Result // nil while it runs
	Warning string  // if set, the other fields are not
}

func warningChange(text string) Change { return Change{Warning: text} }

// Snapshot is what a record held when it was opened.
type Snapshot struct {
	Run         int           // 1, plus 1 for each restart
	Results     []Result      // of finished trials, by number
	Interrupted []data.Config // trials that started but did not end, without an engine
	Submitted   []Unfinished  // trials that did not end, and that an engine may still run
	Orphans     []Unfinished  // of the run before a restart: an engine may still run them
	Warnings    []string
}

// Wall returns the time in which trials ran; overlapping time counts once.
func (s *Snapshot) Wall() time.Duration {
	type span struct{ from, to time.Time }
	var spans []span
	var sum time.Duration
	for _, r := range s.Results {
		took := time.Duration(r.Measurement.Wall * float64(time.Second))
		if r.Measurement.StartedAt.IsZero() {
			sum += took
			continue
		}
		spans = append(spans, span{r.Measurement.StartedAt, r.Measurement.StartedAt.Add(took)})
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			end = s.to
		}
	}
	return sum
}

// Options says which record of a study to open, and how.
type Options struct {
	Journal string // path of the journal
	// Outbox is the prefix of files with results that a shared storage has not received.
	Outbox     string
	Restart    bool          // set the journal aside and begin again
	Lease      time.Duration // of a shared storage; 0 means [DefaultLease]
	Candidates []data.Config
	Search     bayesopt.Options // how the trials appear in goptuna
	// Away is called when a database does not answer, and with nil when it does; may be nil.
	Away func(error)
}

// Open opens the record of a study; it waits up to 15 minutes for a database.
func Open(ctx context.Context, s *data.Study, o Options) (Storage, *Snapshot, error) {
	if IsJournal(s) {
		j, snapshot, err := OpenJournal(o.Journal, s, o)
		if err != nil {
			return nil, nil, err
		}
		return j, snapshot, nil
	}
	if o.Restart {
		return nil, nil, &data.InputError{Source: storageSource(s), Found: "--restart of a study that is shared",
			Want: "another name for it, such as storage: " + kindOfStorage(s.Storage) + "…#second, which leaves the first to the other profilers"}
	}
	d, snapshot, err := openDatabase(ctx, s, o)
	if err != nil {
		return nil, nil, err
	}
	return d, snapshot, nil
}

// IsJournal reports whether a study keeps its record in a journal.
func IsJournal(s *data.Study) bool { return s.Storage == "" || s.Storage == "journal" }

// storageSource is the place of the key storage, for errors.
func storageSource(s *data.Study) data.Source {
	return data.Source{File: s.Source.File, Column: "storage"}
}

// kindOfStorage returns the part of an address without secrets, as postgres://.
func kindOfStorage(address string) string {
	kind, rest, _ := strings.Cut(address, ":")
	if strings.HasPrefix(rest, "//") {
		return kind + "://"
	}
	return kind + ":"
}

// Name is the journal's path, or the database's address without a password.
func Name(s *data.Study, journal string) string {
	if IsJournal(s) {
		return journal
	}
	a, err := parseAddress(s)
	if err != nil {
		return kindOfStorage(s.Storage) + "…"
	}
	return a.label
}
