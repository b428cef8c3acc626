package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/c-bata/goptuna/rdb.v2"
	"gorm.io/gorm"

	"knee/bayesopt/sampler"
	"knee/data"
)

// tablesVersion is the version of the tables below, the newest that can be read.
const tablesVersion = 1

// studyRow is knee's row of a study, in addition to goptuna's.
type studyRow struct {
	StudyID   int    `gorm:"column:study_id;primaryKey;autoIncrement:false"`
	Version   int    `gorm:"column:version;not null"`
	Mark      string `gorm:"column:mark;type:text;not null"` // what must not change, see studyMark
	Objective string `gorm:"column:objective;type:varchar(64);not null"`
	Revision  int64  `gorm:"column:revision;not null"` // of the last write
	Begun     int    `gorm:"column:begun;not null"`    // trials ever begun
}

func (studyRow) TableName() string { return "knee_studies" }

// trialRow is knee's row of a trial, in addition to goptuna's.
type trialRow struct {
	TrialID  int     `gorm:"column:trial_id;primaryKey;autoIncrement:false"` // goptuna's
	StudyID  int     `gorm:"column:study_id;not null;index:idx_knee_trials_study"`
	Number   int     `gorm:"column:number;not null"` // knee's, from 1
	Revision int64   `gorm:"column:revision;not null;index:idx_knee_trials_study"`
	State    string  `gorm:"column:state;type:varchar(16);not null"`
	Config   string  `gorm:"column:config;type:text;not null"` // JSON of a data.Config
	Owner    string  `gorm:"column:owner;type:varchar(255);not null"`
	Attempt  int     `gorm:"column:attempt;not null"`
	Handle   string  `gorm:"column:handle;type:text;not null"`
	Losses   int     `gorm:"column:losses;not null"`                // profilers that died while running it
	Beat     float64 `gorm:"column:beat;type:double precision"`     // time of the last heartbeat: s, the database's clock
	Lease    float64 `gorm:"column:lease_s;type:double precision"`  // time allowed between heartbeats: s
	Record   string  `gorm:"column:record;type:text;not null"`      // JSON of an entry, once it has ended
	Queued   float64 `gorm:"column:queued_s;type:double precision"` // s it waited for nodes
}

func (trialRow) TableName() string { return "knee_trials" }

// read returns the configuration of a trial, and its place for errors.
func (d *Database) read(row trialRow) (c data.Config, at data.Source, err error) {
	at.File = fmt.Sprintf("%s: trial %d", d.address.label, row.Number)
	if err := json.Unmarshal([]byte(row.Config), &c); err != nil {
		return c, at, &data.InputError{Source: at, Found: fmt.Sprintf("%.60q", row.Config), Want: fmt.Sprintf("a configuration (%v)", err)}
	}
	foldGPUType(&c)
	return c, at, nil
}

const (
	stateRunning = "running"
	stateEnded   = "ended"
)

// makeTables creates missing tables, perhaps at once with another profiler.
func (d *Database) makeTables() error {
	var err error
	for try := range 6 {
		if d.db.Migrator().HasTable(&trialRow{}) { // made last
			return nil
		}
		err = d.db.Transaction(func(tx *gorm.DB) error {
			if lock := d.address.backend.lock; lock != "" {
				if err := tx.Exec(lock).Error; err != nil {
					return err
				}
			}
			if tx.Migrator().HasTable(&trialRow{}) {
				return d.unlock(tx)
			}
			return errors.Join(rdb.RunAutoMigrate(tx), tx.AutoMigrate(&studyRow{}, &trialRow{}), d.unlock(tx))
		})
		if err == nil {
			return nil
		}
		if try > 1 && !d.address.backend.temporary(err) {
			break
		}
		time.Sleep(time.Duration(try+1) * time.Duration(50+rand.IntN(100)) * time.Millisecond)
	}
	return d.failed("make the tables", err)
}

func (d *Database) unlock(tx *gorm.DB) error {
	if unlock := d.address.backend.unlock; unlock != "" {
		return tx.Exec(unlock).Error
	}
	return nil
}

// findStudy finds or creates the study, perhaps at once with another profiler.
func (d *Database) findStudy(s *data.Study, o Options) error {
	var err error
	for range 3 {
		err = d.do("find the study", func(tx *gorm.DB) error { return d.findOrMake(tx, s, o) })
		var input *data.InputError
		if err == nil || errors.As(err, &input) || errors.Is(err, ErrUnreachable) {
			return err
		}
		d.outage = outage{}
	}
	return err
}

func (d *Database) findOrMake(tx *gorm.DB, s *data.Study, o Options) error {
	name := cmp.Or(d.address.study, s.Job)
	mark, err := json.Marshal(markOf(s))
	if err != nil {
		return err
	}
	want := studyRow{Version: tablesVersion, Mark: string(mark), Objective: string(o.Search.Objective)}
	id, err := d.goptuna.GetStudyIDFromName(name)
	switch {
	case err == nil:
		d.goptuna.study, d.goptuna.present = id, true
		if err := d.checkStudy(tx, s, name, want); err != nil {
			return err
		}
	case !errors.Is(err, gorm.ErrRecordNotFound):
		return err
	}
	if d.tracker, err = sampler.NewTracker(name, o.Candidates, o.Search, d.goptuna); err != nil {
		return err
	}
	d.study = d.tracker.Study().ID
	if d.goptuna.present {
		return nil
	}
	want.StudyID = d.study
	return tx.Create(&want).Error
}

// checkStudy returns an error for a study of another job, objective or program.
func (d *Database) checkStudy(tx *gorm.DB, s *data.Study, name string, want studyRow) error {
	var was studyRow
	err := tx.First(&was, "study_id = ?", d.goptuna.study).Error
	in := d.address.label + " holds a study " + strconv.Quote(name)
	at := storageSource(s)
	another := "; for another study append #NAME to the storage"
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return &data.InputError{Source: at, Found: in + " that knee profile did not begin", Want: "a name that is free" + another}
	case err != nil:
		return err
	case was.Version > tablesVersion:
		return &data.InputError{Source: at, Found: fmt.Sprintf("%s of version %d", in, was.Version),
			Want: fmt.Sprintf("at most %d, the newest this knee reads", tablesVersion)}
	case was.Mark != want.Mark:
		return &data.InputError{Source: at, Found: in + ", of " + was.Mark, Want: "that of " + want.Mark + another}
	case was.Objective != want.Objective:
		return &data.InputError{Source: at, Found: in + " whose objective is " + was.Objective, Want: want.Objective + another}
	}
	return nil
}

// nextRevision increments the study's revision, which locks its row.
func (d *Database) nextRevision(tx *gorm.DB) (int64, error) {
	d.writes = true
	if err := tx.Exec("UPDATE knee_studies SET revision = revision + 1 WHERE study_id = ?", d.study).Error; err != nil {
		return 0, err
	}
	return d.revisionNow(tx)
}

func (d *Database) revisionNow(tx *gorm.DB) (int64, error) {
	var row studyRow
	err := tx.First(&row, "study_id = ?", d.study).Error
	return row.Revision, err
}
