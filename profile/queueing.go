package profile

import (
	"time"

	"knee/profile/launch"
)

// queueing separates the time that a trial waits for nodes from the time it
// runs. Without an engine a trial runs from its launch.
//
// The engine's clock may differ from ours: a start in the future becomes the
// present, and a start before this process submitted the trial becomes its
// launch.
type queueing struct {
	launched time.Time
	followed bool      // an earlier run had submitted it
	queueing bool      // an engine has it
	begun    time.Time // zero as long as it waits
}

func newQueueing(t launch.Trial) *queueing {
	return &queueing{launched: time.Now(), followed: t.Handle != "", queueing: t.Handle != ""}
}

func (q *queueing) began(at time.Time) {
	if now := time.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	if at.Before(q.launched) && !q.followed {
		at = q.launched
	}
	q.begun = at
}

// seenRunning records a step at a time: a trial that makes steps is running,
// whether or not its launcher said so.
func (q *queueing) seenRunning(at time.Time) {
	if q.waiting() {
		q.begun = at
	}
}

// took returns the seconds since the launch, by our clock alone; 0 if an earlier
// run submitted the trial.
func (q *queueing) took() float64 {
	if q.followed {
		return 0
	}
	return time.Since(q.launched).Seconds()
}

func (q *queueing) waiting() bool { return q.queueing && q.begun.IsZero() }

// beginning returns when the trial began to run; its launch if it has not waited.
func (q *queueing) beginning() time.Time {
	if q.begun.IsZero() {
		return q.launched
	}
	return q.begun
}

// ran returns how long the trial has run by now, 0 if it has not begun.
func (q *queueing) ran(now time.Time) time.Duration {
	if q.waiting() {
		return 0
	}
	return max(now.Sub(q.beginning()), 0)
}

// queued returns how long the trial waited for nodes, up to now.
func (q *queueing) queued(now time.Time) time.Duration {
	if q.waiting() {
		return now.Sub(q.launched)
	}
	return max(q.beginning().Sub(q.launched), 0)
}
