package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"knee/internal/slurm"
)

// A job that waits after it began was requeued, unless the report is older than
// its first output.
func TestSlurmQueueBehindTheOutput(t *testing.T) {
	j := &slurmJob{launcher: &Slurm{}, id: "1", release: func() {}}
	before := time.Now()
	j.begin(before)
	pending := slurmReport{job: slurm.Job{State: "PENDING"}, known: true, asked: before}
	if ended, err := j.see(pending); ended || err != nil {
		t.Errorf("asked before it began: %v, %v", ended, err)
	}
	pending.asked = j.began.Add(1)
	var failure *Failure
	if _, err := j.see(pending); !errors.As(err, &failure) || !failure.Preempted {
		t.Errorf("asked after it began: %v, want it requeued", err)
	}
	if _, err := j.see(slurmReport{job: slurm.Job{State: "SUSPENDED"}, known: true, asked: pending.asked}); !errors.As(err, &failure) || !failure.Preempted {
		t.Errorf("suspended: %v, want it launched again", err)
	}
}

// A step that is read together with the beginning came after it.
func TestSlurmBeganBeforeItsFirstStep(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(markBegin+" on n1\nknee: {\"step\":1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var began time.Time
	j := &slurmJob{launcher: &Slurm{}, id: "1", release: func() {}, since: time.Now()}
	j.trial.Began = func(at time.Time) { began = at }
	out, obs := tailOf(log, Parser{})
	j.out = out
	if err := j.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first := (<-obs).At; began.IsZero() || !first.After(began) {
		t.Errorf("it began at %v, want before its first step at %v", began, first)
	}
}

// A failed query is no outage of the next job, long after the last one has ended.
func TestSlurmOutageEndsWithTheJobs(t *testing.T) {
	q := &slurmQueue{reports: map[string]slurmReport{"1": {}}, down: time.Now().Add(-time.Hour)}
	if q.forget("1"); !q.down.IsZero() {
		t.Errorf("down since %v, want it forgotten", q.down)
	}
}
