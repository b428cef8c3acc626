package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// DefaultLease is how long a profiler may be silent before its trials are taken over.
const DefaultLease = time.Minute

const (
	pollEvery   = time.Second
	queryLimit  = 20 * time.Second // for one transaction
	giveUpAwait = 15 * time.Minute // without an answer of the database
	closeAwait  = 30 * time.Second // for delivering the outbox
)

// Database is the record of a study that several profilers share, on one host or many.
//
// Its trials are those of a goptuna study (rdb.v2), so that goptuna's tools can read it: knobs as
// ordinals, the objective as value. Two more tables hold the owner of each trial, its last
// heartbeat by the database's clock, and the measurement with its curve, which does not fit
// goptuna's attributes of 2048 characters.
//
// Every write gets the study's next revision in its transaction, so that a reader of one revision
// has read all before it. A trial is begun only if no other profiler began one since the caller's
// last Changes: choosing takes no lock.
type Database struct {
	address address
	db      *gorm.DB
	owner   string // this profiler: host, process, random number
	study   int    // goptuna's id
	lease   time.Duration
	tracker *sampler.Tracker
	goptuna *switched

	mu       sync.Mutex
	revision int64        // last one reported by Changes
	known    map[int]bool // trials known to have begun
	own      map[int]int  // goptuna's ids of the trials running here
	mine     map[int]bool // trials ended here
	pending  []Change     // for the next Changes
	outbox   *outbox
	outage   outage
	writes   bool // the current transaction writes
	warnings []string

	stop    chan struct{} // ends the heartbeat
	stopped sync.WaitGroup
}

var _ Storage = (*Database)(nil)

// switched is the goptuna.Storage of a study: rdb.v2 in the current transaction.
type switched struct {
	goptuna.Storage
	study   int  // id of an existing study
	present bool // it exists
}

// CreateNewStudy implements goptuna.Storage; it returns an existing study.
func (s *switched) CreateNewStudy(name string) (int, error) {
	if s.present {
		return s.study, nil
	}
	return s.Storage.CreateNewStudy(name)
}

// openDatabase connects, creates missing tables and the study, and returns the contents. It
// waits up to giveUpAwait for a database that does not answer.
func openDatabase(ctx context.Context, s *data.Study, o Options) (*Database, *Snapshot, error) {
	a, err := parseAddress(s)
	if err != nil {
		return nil, nil, err
	}
	d := &Database{address: a, owner: ownerName(), lease: cmp.Or(o.Lease, DefaultLease), goptuna: &switched{},
		known: map[int]bool{}, own: map[int]int{}, mine: map[int]bool{}, stop: make(chan struct{})}
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

// await repeats do while the database does not answer, and calls away once.
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
	dialector, err := d.address.backend.open(d.address, s.Source.Beside)
	if err != nil {
		return d.address.wrap("cannot be opened", err, nil)
	}
	d.db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return d.failed("cannot be reached", err)
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

func (d *Database) failed(doing string, err error) error {
	if d.address.backend.temporary(err) {
		return d.address.wrap(doing, err, ErrUnreachable)
	}
	return d.address.wrap(doing, err, nil)
}

// takeUp finds or creates the study, delivers old outboxes and reads the contents.
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
	snapshot.Results = ByNumber(results)
	return snapshot, nil
}

func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%.200s, process %d, %08x", host, os.Getpid(), rand.Uint32())
}

// do runs f in a transaction; during an outage it returns the last error until the next
// attempt is due. Temporary errors of the database are ErrUnreachable.
func (d *Database) do(doing string, f func(tx *gorm.DB) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.outage.hold(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), queryLimit)
	defer cancel()
	d.writes = false
	err := d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		d.goptuna.Storage = rdb.NewStorage(tx)
		return f(tx)
	})
	var input *data.InputError
	switch {
	case err == nil, errors.Is(err, ErrOvertaken), errors.Is(err, ErrTaken), errors.As(err, &input):
		if d.writes || !d.outage.writing {
			d.outage.over()
		}
		return err
	case ctx.Err() != nil || d.address.backend.temporary(err):
		d.outage.writing = d.outage.writing || d.writes
		return d.outage.count(d.address.wrap(doing, err, ErrUnreachable), d.address.wrap(
			fmt.Sprintf("it has not answered for %s", giveUpAwait), err, nil))
	}
	return d.address.wrap(doing, err, nil)
}

func (d *Database) Poll() time.Duration { return pollEvery }

// Close delivers the outbox, and disconnects. The error says what is left for the next run.
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

// outage is of a database that does not answer, or takes no writes: reading does not end it.
type outage struct {
	writing bool
	since   time.Time // zero while it answers
	next    time.Time // time of the next attempt
	wait    time.Duration
	last    error
	ended   time.Time // end of the last outage
}

// The waits between attempts to reach a database double.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 15 * time.Second
)

// hold returns the last error until the next attempt is due.
func (o *outage) hold() error {
	if o.since.IsZero() || time.Now().After(o.next) {
		return nil
	}
	return o.last
}

// count records a missing answer. It returns err, or final after giveUpAwait.
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
