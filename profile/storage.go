package profile

import (
	"errors"
	"strings"
	"time"

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
	// its number. If another profiler has begun a trial that News has not told
	// of, nothing is recorded and the error is ErrOvertaken: what c was chosen
	// from is out of date.
	Begin(c data.Config) (trial int, err error)
	// Submitted records what an engine calls an attempt of a trial.
	Submitted(trial, attempt int, handle string) error
	// End records what a trial yielded. The error is ErrTaken if another
	// profiler has taken the trial over, or has ended it.
	End(trial int, e Ending) error
	// Adopt hands over a trial that was begun and that no living profiler
	// looks after; nil if there is none.
	Adopt() (*Unfinished, error)
	// News returns what other profilers have recorded since it was last
	// asked, in the order in which they did.
	News() ([]Change, error)
	// Poll is how often News is worth asking for; 0 if there never are any.
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

// Ending is what a trial came to.
type Ending struct {
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
	Ended   *Ending // nil as long as it runs
	Warning string  // if set, nothing else is
}

// Past is what a record knew when it was opened.
type Past struct {
	Measurements []data.Measurement // finished trials, in the order in which they ended
	Curves       []data.CurvePoint
	Interrupted  []data.Config // trials that had started and not ended, and that no engine runs
	Submitted    []Unfinished  // trials that had not ended, and that an engine may still run
	LastTrial    int           // the largest trial number given out
	Wall         time.Duration // Σ of the trials' own times
	Warnings     []string
}

// add takes one finished trial. Aborted trials count as spent time, but not
// as measured.
func (p *Past) add(e Ending) {
	p.Wall += time.Duration(e.Measurement.Wall * float64(time.Second))
	p.Measurements = append(p.Measurements, e.Measurement)
	p.Curves = append(p.Curves, e.Curve...)
}

// openStorage opens the record that a study asks for.
func openStorage(s *data.Study, f Files, o Settings, t tracking) (Storage, *Past, error) {
	if s.Storage == "" || s.Storage == "journal" {
		if o.Restart {
			if err := setAside(f.Journal); err != nil {
				return nil, nil, err
			}
		}
		return journalStorage(f.Journal, s)
	}
	if o.Restart {
		return nil, nil, &data.InputError{Source: storageSource(s), Found: "--restart of a study that is shared",
			Want: "another name for it, such as storage: " + kindOfStorage(s.Storage) + "…#second, which leaves the first to the other profilers"}
	}
	return databaseStorage(s, f, o, t)
}

// journalStorage and databaseStorage keep a nil pointer from becoming a
// Storage that is not nil.
func journalStorage(path string, s *data.Study) (Storage, *Past, error) {
	j, past, err := OpenJournal(path, s)
	if err != nil {
		return nil, nil, err
	}
	return j, past, nil
}

func databaseStorage(s *data.Study, f Files, o Settings, t tracking) (Storage, *Past, error) {
	d, past, err := openDatabase(s, f, o, t)
	if err != nil {
		return nil, nil, err
	}
	return d, past, nil
}

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

// StorageName names the record of a study for people: the journal's path or
// the database's address, without a password.
func StorageName(s *data.Study, f Files) string {
	if s.Storage == "" || s.Storage == "journal" {
		return f.Journal
	}
	a, err := parseAddress(s)
	if err != nil {
		return kindOfStorage(s.Storage) + "…"
	}
	return a.label
}
