package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/c-bata/goptuna"
	"gorm.io/gorm"

	"knee/data"
	"knee/internal/list"
)

func (d *Database) Begin(c data.Config) (int, error) {
	number := 0
	err := d.do("begin a trial", func(tx *gorm.DB) error {
		d.writes = true
		res := tx.Exec("UPDATE knee_studies SET revision = revision + 1, begun = begun + 1 WHERE study_id = ? AND begun = ?", d.study, len(d.known))
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			return ErrOvertaken
		}
		revision, err := d.revisionNow(tx)
		if err != nil {
			return err
		}
		id, err := d.tracker.Start(c)
		if err != nil {
			return err
		}
		before, err := d.goptuna.GetTrialNumberFromID(id)
		if err != nil {
			return err
		}
		number = before + 1 // goptuna counts from 0
		config, err := json.Marshal(c)
		if err != nil {
			return err
		}
		row := trialRow{TrialID: id, StudyID: d.study, Number: number, Revision: revision, State: stateRunning,
			Config: string(config), Owner: d.owner, Attempt: 1, Lease: d.lease.Seconds()}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		// For people: the parameters are ordinals.
		if err := cmp.Or(d.goptuna.SetTrialUserAttr(id, "config", cut(c.String())), d.goptuna.SetTrialUserAttr(id, "profiler", cut(d.owner))); err != nil {
			return err
		}
		if err := d.touch(tx, id); err != nil {
			return err
		}
		d.own[number], d.known[number] = id, true
		return nil
	})
	if err == nil {
		return number, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.own[number]; ok {
		// Not committed, as far as is known: if it was, the trial's lease expires.
		delete(d.own, number)
		delete(d.known, number)
	}
	return 0, err
}

func (d *Database) touch(tx *gorm.DB, ids ...int) error {
	d.writes = true
	return tx.Exec("UPDATE knee_trials SET beat = "+d.address.backend.now+" WHERE trial_id IN ? AND owner = ? AND state = ?",
		ids, d.owner, stateRunning).Error
}

// attributeLimit is the size of goptuna's attributes in characters.
const attributeLimit = 2048

func cut(s string) string {
	if r := []rune(s); len(r) > attributeLimit {
		return string(r[:attributeLimit-1]) + "…"
	}
	return s
}

// Submitted implements [Storage]; during an outage it keeps the handle in a file.
func (d *Database) Submitted(trial, attempt int, handle string) error {
	e := entry{Event: "submitted", Trial: trial, Attempt: attempt, Handle: handle, At: time.Now().UTC()}
	return d.deliverOrKeep(trial, e)
}

// End implements [Storage]; during an outage it keeps the result in a file.
func (d *Database) End(r Result) error {
	trial := r.Trial
	err := d.deliverOrKeep(trial, endEntry(r))
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || !slices.ContainsFunc(d.outbox.kept, func(e entry) bool { return e.Trial == trial }) {
		delete(d.own, trial)
	}
	return err
}

// deliver records an entry of a trial for the profiler owner.
func (d *Database) deliver(id int, owner string, e entry) error {
	return d.do("record trial "+fmt.Sprint(e.Trial), func(tx *gorm.DB) error {
		revision, err := d.nextRevision(tx)
		if err != nil {
			return err
		}
		if e.Event == "submitted" {
			res := tx.Exec("UPDATE knee_trials SET handle = ?, attempt = ?, revision = ? WHERE trial_id = ? AND owner = ? AND state = ?",
				e.Handle, e.Attempt, revision, id, owner, stateRunning)
			if res.Error == nil && res.RowsAffected == 0 {
				return ErrTaken
			}
			return res.Error
		}
		return d.end(tx, id, owner, revision, e)
	})
}

// end ends a trial. Facts are accepted from any profiler: the first one wins.
func (d *Database) end(tx *gorm.DB, id int, owner string, revision int64, e entry) error {
	record, err := json.Marshal(e)
	if err != nil {
		return err
	}
	m := *e.Measurement
	res := tx.Exec("UPDATE knee_trials SET state = ?, owner = ?, revision = ?, record = ?, queued_s = ? WHERE trial_id = ? AND state = ? AND (owner = ? OR ?)",
		stateEnded, owner, revision, string(record), e.Queued, id, stateRunning, owner, m.Status.IsFact())
	if res.Error != nil {
		return res.Error
	}
	if res.RowsAffected == 0 {
		var row trialRow
		if err := tx.First(&row, "trial_id = ?", id).Error; err != nil {
			return err
		}
		if row.State == stateEnded && row.Owner == owner {
			return nil // recorded before; the answer was lost
		}
		return ErrTaken
	}
	if m.Error != "" {
		if err := d.goptuna.SetTrialUserAttr(id, "error", cut(m.Error)); err != nil {
			return err
		}
	}
	// If it was ended through goptuna, the measurement is recorded all the same.
	if err := d.tracker.Finish(id, m); err != nil && !errors.Is(err, goptuna.ErrTrialCannotBeUpdated) {
		return err
	}
	d.mine[e.Trial] = true
	return nil
}

func (d *Database) Changes() ([]Change, error) {
	if err := d.deliverKept(); err != nil {
		return nil, err
	}
	var changes []Change
	err := d.do("read the changes", func(tx *gorm.DB) error {
		var rows []trialRow
		if err := tx.Order("revision").Find(&rows, "study_id = ? AND revision > ?", d.study, d.revision).Error; err != nil {
			return err
		}
		for _, row := range rows {
			c, err := d.change(row)
			if err != nil {
				return err
			}
			if c != nil {
				changes = append(changes, *c)
			}
			d.known[row.Number] = true
			d.revision = row.Revision
		}
		changes = slices.Concat(d.pending, changes, list.Map(d.warnings, warningChange))
		d.pending, d.warnings = nil, nil
		return nil
	})
	return changes, err
}

// change returns the change that a row holds; nil for a trial of this profiler.
func (d *Database) change(row trialRow) (*Change, error) {
	if _, running := d.own[row.Number]; row.Owner == d.owner && (running || d.mine[row.Number]) {
		return nil, nil
	}
	config, at, err := d.read(row)
	if err != nil {
		return nil, err
	}
	c := Change{Trial: row.Number, Config: config}
	if row.State == stateEnded {
		e, err := unseal([]byte(row.Record))
		if err != nil || e.Measurement == nil {
			return nil, &data.InputError{Source: at, Found: fmt.Sprintf("%.60q", row.Record), Want: "what a trial yielded"}
		}
		if wrong := e.problem(c.Config.Job); wrong != "" {
			return nil, &data.InputError{Source: at, Found: wrong, Want: "what a trial yielded"}
		}
		result := e.result(at)
		c.Ended = &result
	}
	return &c, nil
}

// heartbeat renews the lease of this profiler's trials until Close.
func (d *Database) heartbeat() {
	due := time.Tick(d.lease / 4)
	for {
		select {
		case <-d.stop:
			return
		case <-due:
			// The next Changes reports that the database does not answer.
			_ = d.do("renew the lease", func(tx *gorm.DB) error {
				if len(d.own) == 0 {
					return nil
				}
				return d.touch(tx, slices.Collect(maps.Values(d.own))...)
			})
		}
	}
}

// Adopt implements [Storage], by the database's clock. No heartbeat can be recorded during an
// outage, so after one every profiler gets a whole lease.
func (d *Database) Adopt() (*Unfinished, error) {
	var u *Unfinished
	id := 0
	err := d.do("take over a trial", func(tx *gorm.DB) error {
		if o := d.outage; !o.since.IsZero() || !o.ended.IsZero() && time.Since(o.ended) < d.lease {
			return nil
		}
		row, err := d.findLost(tx)
		if err != nil || row == nil {
			return err
		}
		revision, err := d.nextRevision(tx)
		if err != nil {
			return err
		}
		attempt := row.Attempt
		if row.Handle == "" {
			attempt++
		}
		res := tx.Exec("UPDATE knee_trials SET owner = ?, attempt = ?, losses = losses + 1, lease_s = ?, revision = ?, beat = "+d.address.backend.now+
			" WHERE trial_id = ? AND owner = ? AND state = ? AND "+d.silent(),
			d.owner, attempt, d.lease.Seconds(), revision, row.TrialID, row.Owner, stateRunning)
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error // another profiler took it, or its own sent a heartbeat
		}
		u = &Unfinished{Trial: row.Number, Attempt: attempt, Handle: row.Handle, Losses: row.Losses + 1}
		if u.Config, _, err = d.read(*row); err != nil {
			return err
		}
		id = row.TrialID
		d.own[u.Trial] = id
		return d.goptuna.SetTrialUserAttr(id, "profiler", cut(d.owner))
	})
	if err != nil && u != nil {
		d.mu.Lock()
		delete(d.own, u.Trial)
		d.mu.Unlock()
		return nil, err
	}
	return u, err
}

// findLost returns the first running trial with an expired lease, nil if none.
func (d *Database) findLost(tx *gorm.DB) (*trialRow, error) {
	q := tx.Where("study_id = ? AND state = ?", d.study, stateRunning).Where(d.silent()).Order("number")
	if len(d.own) > 0 {
		q = q.Where("trial_id NOT IN ?", slices.Collect(maps.Values(d.own)))
	}
	var row trialRow
	err := q.First(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	return &row, err
}

// silent is SQL: a lease has expired, without the time before the database's start.
func (d *Database) silent() string {
	heard := "beat"
	if up := d.address.backend.up; up != "" {
		heard = "GREATEST(beat, " + up + ")"
	}
	return "(" + d.address.backend.now + " - " + heard + ") > lease_s"
}
