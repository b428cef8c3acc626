package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/c-bata/goptuna"
	"github.com/c-bata/goptuna/rdb.v2"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"knee/bayesopt/sampler"
	"knee/data"
)

// DefaultLease is how long a profiler of a shared study may be silent until
// the others take over its trials. It says so four times as often.
const DefaultLease = time.Minute

// Times of a shared storage.
const (
	pollEvery   = time.Second
	queryLimit  = 20 * time.Second // for one transaction
	giveUpAwait = 15 * time.Minute // without an answer of the database
	closeAwait  = 30 * time.Second // for what is still to be delivered
)

// Database is the record of a study that several profilers share, on one
// host or many.
//
// Its trials are those of a goptuna study (rdb.v2), so that goptuna's tools
// can read it: knobs as ordinals, the objective as value. Two tables beside
// goptuna's hold what goptuna has no place for: whose trial it is and when its
// profiler was last heard of, by the database's clock, and the measurement
// with its curve, which would not fit the 2048 characters of an attribute.
//
// Whatever is recorded gets the next revision of the study in the
// transaction that records it, so that a reader that has seen one revision
// has seen all before it. A trial is begun only if nobody has begun another
// since the caller last looked: choosing takes no lock.
type Database struct {
	address address
	db      *gorm.DB
	owner   string // this profiler: host, process, and a number drawn by lot
	study   int    // goptuna's id
	lease   time.Duration
	tracker *sampler.Tracker
	goptuna *switched
	index   map[string]int // candidates by key

	mu       sync.Mutex
	revision int64        // that Changes has reported
	known    map[int]bool // trials begun, as far as is known here
	own      map[int]int  // goptuna's ids of the trials that run here
	mine     map[int]bool // trials ended here
	pending  []Change     // to be told by the next Changes
	outbox   *outbox
	outage   outage
	warnings []string

	stop    chan struct{} // ends the heartbeat
	stopped sync.WaitGroup
}

var _ Storage = (*Database)(nil)

// switched is the goptuna.Storage of a study: rdb.v2 within whatever
// transaction is at work.
type switched struct {
	goptuna.Storage
	study   int  // of an existing study
	present bool // it exists
}

// CreateNewStudy implements goptuna.Storage; an existing study is taken.
func (s *switched) CreateNewStudy(name string) (int, error) {
	if s.present {
		return s.study, nil
	}
	return s.Storage.CreateNewStudy(name)
}

// openDatabase connects to the storage of a study, creates its tables and
// the study if they are not there, and returns what it holds. A database that
// does not answer is waited for as long as a running profiler would. Errors:
// it stays away, or the study in it is another.
func openDatabase(ctx context.Context, s *data.Study, o Options) (*Database, *Snapshot, error) {
	a, err := parseAddress(s)
	if err != nil {
		return nil, nil, err
	}
	d := &Database{address: a, owner: ownerName(), lease: o.Lease, goptuna: &switched{},
		known: map[int]bool{}, own: map[int]int{}, mine: map[int]bool{}, index: map[string]int{}, stop: make(chan struct{})}
	if d.lease <= 0 {
		d.lease = DefaultLease
	}
	for i, c := range o.Candidates {
		d.index[c.Key()] = i
	}
	if err := d.await(ctx, o.Away, func() error { return d.connect(s) }); err != nil {
		return nil, nil, err
	}
	var snapshot *Snapshot
	err = d.await(ctx, o.Away, func() (err error) {
		snapshot, err = d.takeUp(s, o)
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, d.disconnect())
	}
	d.stopped.Go(d.heartbeat)
	return d, snapshot, nil
}

// await does something again and again as long as the database does not
// answer, and says so once.
func (d *Database) await(ctx context.Context, away func(error), do func() error) error {
	var o outage
	for {
		err := do()
		if !errors.Is(err, ErrUnreachable) {
			if !o.since.IsZero() && err == nil && away != nil {
				away(nil)
			}
			return err
		}
		if o.since.IsZero() && away != nil {
			away(err)
		}
		if final := o.count(err, fmt.Errorf("%w for %s", err, giveUpAwait)); final != err {
			return final
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(o.wait):
		}
		d.outage = outage{}
	}
}

func (d *Database) connect(s *data.Study) error {
	dialector, err := d.address.backend.open(d.address.url, s.Source.Beside)
	if err != nil {
		return d.address.wrap("cannot be opened", err, nil)
	}
	d.db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return d.unreached(err)
	}
	pool, err := d.db.DB()
	if err != nil {
		return d.address.wrap("cannot be reached", err, nil)
	}
	if d.address.backend.single {
		pool.SetMaxOpenConns(1)
	}
	pool.SetConnMaxIdleTime(5 * time.Minute)
	if err := d.makeTables(); err != nil {
		return errors.Join(err, pool.Close())
	}
	return nil
}

func (d *Database) unreached(err error) error {
	if d.address.backend.temporary(err) {
		return d.address.wrap("cannot be reached", err, ErrUnreachable)
	}
	return d.address.wrap("cannot be reached", err, nil)
}

// takeUp finds or makes the study, delivers what earlier runs could not, and
// reads what there is.
func (d *Database) takeUp(s *data.Study, o Options) (*Snapshot, error) {
	if err := d.findStudy(s, o); err != nil {
		return nil, err
	}
	d.outbox = &outbox{prefix: o.Outbox, owner: d.owner, storage: d.address.label}
	if err := d.deliverOld(); err != nil {
		return nil, err
	}
	changes, err := d.Changes()
	if err != nil {
		return nil, err
	}
	snapshot := &Snapshot{Run: 1}
	results := map[int]Result{}
	for _, c := range changes {
		switch {
		case c.Warning != "":
			snapshot.Warnings = append(snapshot.Warnings, c.Warning)
		case c.Ended != nil:
			results[c.Trial] = *c.Ended
		default:
			d.pending = append(d.pending, c)
		}
	}
	snapshot.Results = byNumber(results)
	return snapshot, nil
}

// ownerName names this profiler among all that there ever were.
func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	lot := make([]byte, 4)
	rand.Read(lot) // never fails
	return fmt.Sprintf("%.200s, process %d, %s", host, os.Getpid(), hex.EncodeToString(lot))
}

// do runs f in a transaction, unless the database has just not answered.
// Errors of this package come back as they are; those of the database as
// ErrUnreachable if they may pass.
func (d *Database) do(doing string, f func(tx *gorm.DB) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.outage.hold(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), queryLimit)
	defer cancel()
	err := d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		d.goptuna.Storage = rdb.NewStorage(tx)
		return f(tx)
	})
	var input *data.InputError
	switch {
	case err == nil, errors.Is(err, ErrOvertaken), errors.Is(err, ErrTaken), errors.As(err, &input):
		d.outage.over()
		return err
	case ctx.Err() != nil || d.address.backend.temporary(err):
		return d.outage.count(d.address.wrap(doing, err, ErrUnreachable), d.address.wrap(
			fmt.Sprintf("it has not answered for %s", giveUpAwait), err, nil))
	}
	return d.address.wrap(doing, err, nil)
}

// Poll implements [Storage].
func (d *Database) Poll() time.Duration { return pollEvery }

// Close delivers what is still to be, and disconnects. What cannot be
// delivered stays in its file for the next run, which the error says.
func (d *Database) Close() error {
	close(d.stop)
	d.stopped.Wait()
	err := d.deliverRest(closeAwait)
	return errors.Join(err, d.disconnect())
}

func (d *Database) disconnect() error {
	pool, err := d.db.DB()
	if err == nil {
		err = pool.Close()
	}
	if err != nil {
		return d.address.wrap("disconnect", err, nil)
	}
	return nil
}

// outage keeps count of a database that does not answer.
type outage struct {
	since time.Time // zero as long as it answers
	next  time.Time // not to be asked before
	wait  time.Duration
	last  error
	ended time.Time // when the last one was over
}

// The waits between attempts to reach a database double from one to the
// other.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 15 * time.Second
)

// hold returns the last error as long as it is too early to ask again.
func (o *outage) hold() error {
	if o.since.IsZero() || time.Now().After(o.next) {
		return nil
	}
	return o.last
}

// count notes that there was no answer. It returns err, or final if there
// has been none for too long.
func (o *outage) count(err, final error) error {
	now := time.Now()
	if o.since.IsZero() {
		o.since, o.wait = now, firstWait/2
	}
	o.wait = min(2*o.wait, lastWait)
	o.next, o.last = now.Add(o.wait), err
	if now.Sub(o.since) > giveUpAwait {
		o.last = final
	}
	return o.last
}

func (o *outage) over() {
	if !o.since.IsZero() {
		*o = outage{ended: time.Now()}
	}
}
