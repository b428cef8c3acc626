package profile

import (
	"cmp"
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
	begun    time.Time // zero as long as it waits
}

func newQueueing(t launch.Trial) *queueing {
	q := &queueing{launched: time.Now(), followed: t.Handle != ""}
	if !q.followed {
		q.begun = q.launched
	}
	return q
}

// wait records that an engine has the trial.
func (q *queueing) wait() { q.begun = time.Time{} }

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

func (q *queueing) waiting() bool { return q.begun.IsZero() }

// times returns how long the trial waited for nodes and how long it ran, up to now.
func (q *queueing) times(now time.Time) (queued, ran time.Duration) {
	begun := cmp.Or(q.begun, now)
	return max(begun.Sub(q.launched), 0), max(now.Sub(begun), 0)
}
