package store

import (
	"errors"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
)

// heartbeat renews the lease of this profiler's trials until Close.
func (d *Database) heartbeat() {
	ticker := time.NewTicker(d.lease / 4)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
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

// Adopt implements [Storage]: it takes over a trial without a heartbeat for its
// lease, by the database's clock. No heartbeat can be recorded during an
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

// silent is the SQL condition that a trial's lease has expired. The time before
// the database's start does not count.
func (d *Database) silent() string {
	heard := "beat"
	if up := d.address.backend.up; up != "" {
		heard = "GREATEST(beat, " + up + ")"
	}
	return "(" + d.address.backend.now + " - " + heard + ") > lease_s"
}
