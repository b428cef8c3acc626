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

// Storage is the record of a study: which trials were begun, and what they
// yielded. A [Journal] is the record of one profiler; a [Database] is shared
// by several, on one host or many.
//
// What a method has recorded when it returns nil survives the process. The
// methods may be called from several goroutines.
type Storage interface {
	// Begin records that a trial of c is about to be launched, and returns
	// its number. If another profiler has begun a trial that Changes has not
	// reported, nothing is recorded and the error is ErrOvertaken: what c was
	// chosen from is out of date.
	Begin(c data.Config) (trial int, err error)
	// Submitted records what an engine calls an attempt of a trial.
	Submitted(trial, attempt int, handle string) error
	// End records what a trial yielded. The error is ErrTaken if another
	// profiler has taken the trial over, or has ended it.
	End(e Result) error
	// Adopt hands over a trial that was begun and that no living profiler
	// looks after; nil if there is none.
	Adopt() (*Unfinished, error)
	// Changes returns what other profilers have recorded since it was last
	// asked, in the order in which they did, and warnings.
	Changes() ([]Change, error)
	// Poll is how often Changes is worth asking for; 0 if there never are any.
	Poll() time.Duration
	Close() error
}

// What can keep a shared storage from recording something.
var (
	// ErrOvertaken says that another profiler has begun a trial in between.
	ErrOvertaken = errors.New("another profiler has begun a trial meanwhile")
	// ErrTaken says that a trial belongs to another profiler now.
	ErrTaken = errors.New("another profiler has taken the trial over")
	// ErrUnreachable says that the database does not answer. It is worth
	// asking again later.
	ErrUnreachable = errors.New("the database does not answer")
)

// Result is what a trial came to.
type Result struct {
	Trial       int
	Measurement data.Measurement
	Curve       []data.CurvePoint
	Queued      time.Duration // waiting for nodes, which is no part of Measurement.Wall
}

// Unfinished is a trial that was begun and not ended.
type Unfinished struct {
	Trial   int
	Attempt int // the one to be launched
	Config  data.Config
	Handle  string // what the engine calls it, if one has taken it: it is followed, not launched again
	Losses  int    // how many profilers have been lost while it ran
}

// Change is what another profiler did with a trial, or a warning.
type Change struct {
	Trial   int
	Config  data.Config
	By      string  // who has the trial: host and process
	Ended   *Result // nil as long as it runs
	Warning string  // if set, nothing else is
}

// Snapshot is what a record held when it was opened.
type Snapshot struct {
	Run         int           // how often the study was begun: 1, and 1 more for each restart
	Results     []Result      // of finished trials, by number
	Interrupted []data.Config // trials that had started and not ended, and that no engine runs
	Submitted   []Unfinished  // trials that had not ended, and that an engine may still run
	Orphans     []Unfinished  // of the run before a restart: an engine may still run them
	Warnings    []string
}

// Wall returns the wall-clock time in which trials ran: of those that ran at
// the same time it counts once.
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
	// Outbox begins the names of the files that keep what a shared storage
	// could not take because it did not answer. The next run delivers it.
	Outbox     string
	Restart    bool          // set the journal aside and begin again
	Lease      time.Duration // of a shared storage; 0 means [DefaultLease]
	Candidates []data.Config
	Search     bayesopt.Options // how the trials appear in goptuna
	// Away is called with the reason when a database does not answer, and with
	// nil when it does again; may be nil.
	Away func(error)
}

// Open opens the record that a study asks for. One in a database that does
// not answer is waited for until ctx ends.
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

// storageSource is where a study says what its storage is.
func storageSource(s *data.Study) data.Source {
	return data.Source{File: s.Source.File, Column: "storage"}
}

// kindOfStorage returns the part of an address that says nothing of value to
// others: sqlite:, postgres://.
func kindOfStorage(address string) string {
	kind, rest, _ := strings.Cut(address, ":")
	if strings.HasPrefix(rest, "//") {
		return kind + "://"
	}
	return kind + ":"
}

// Name names the record of a study for people: the journal's path or the
// database's address, without a password.
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
