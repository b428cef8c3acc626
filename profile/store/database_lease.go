package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"knee/data"
)

// heartbeat says, until the storage is closed, that the trials of this
// profiler are looked after.
func (d *Database) heartbeat() {
	ticker := time.NewTicker(d.lease / 4)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			// That the database does not answer is for the next Changes to say.
			_ = d.do("say that this profiler lives", func(tx *gorm.DB) error {
				if len(d.own) == 0 {
					return nil
				}
				return d.touch(tx, slices.Collect(maps.Values(d.own)), func() {})
			})
		}
	}
}

// Adopt implements [Storage]: it takes over a trial whose profiler has not
// been heard of for its lease. Only the database's clock counts. Nobody could
// be heard of while the database was away, so that after an outage everybody
// gets a whole lease again.
func (d *Database) Adopt() (*Unfinished, error) {
	var u *Unfinished
	id := 0
	err := d.do("take over a trial", func(tx *gorm.DB) error {
		if !d.outage.ended.IsZero() && time.Since(d.outage.ended) < d.lease {
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
			return res.Error // another was quicker, or its profiler lives after all
		}
		u = &Unfinished{Trial: row.Number, Attempt: attempt, Handle: row.Handle, Losses: row.Losses + 1}
		if err := json.Unmarshal([]byte(row.Config), &u.Config); err != nil {
			return &data.InputError{Source: data.Source{File: fmt.Sprintf("%s: trial %d", d.address.label, row.Number)},
				Found: fmt.Sprintf("%.60q", row.Config), Want: fmt.Sprintf("a configuration (%v)", err)}
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

// findLost returns the first trial that no living profiler looks after, nil
// if there is none.
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

// silent is the condition, in SQL, that the profiler of a trial has not been
// heard of for the lease. It could not be before the database was started.
func (d *Database) silent() string {
	heard := "beat"
	if up := d.address.backend.up; up != "" {
		heard = "GREATEST(beat, " + up + ")"
	}
	return "(" + d.address.backend.now + " - " + heard + ") > lease_s"
}
