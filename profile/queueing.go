package profile

import (
	"sync"
	"time"

	"knee/profile/launch"
)

// queueing tells the time that a trial waits for nodes from the time it
// runs. A trial that no engine takes runs from the moment it is launched.
//
// The engine's clock may differ from ours: a beginning in the future, or
// before this process submitted the trial, is moved to where it can be.
type queueing struct {
	submitted chan struct{} // gets a value when an engine has taken the trial
	began     chan struct{} // gets a value when it begins to run

	mu       sync.Mutex
	launched time.Time
	followed bool      // an earlier run had submitted it
	queueing bool      // an engine has it
	begun    time.Time // zero as long as it waits
}

func newQueueing(t launch.Trial) *queueing {
	return &queueing{submitted: make(chan struct{}, 1), began: make(chan struct{}, 1),
		launched: time.Now(), followed: t.Handle != "", queueing: t.Handle != ""}
}

// submit notes that the trial waits: for its turn to be submitted, or for nodes.
func (q *queueing) submit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queueing = true
	signalOnce(q.submitted)
}

// beganAt notes when the trial began to run: the launcher's callback.
func (q *queueing) beganAt(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	if at.Before(q.launched) && !q.followed {
		at = q.launched
	}
	q.begun = at
	signalOnce(q.began)
}

// seenRunning notes that a step was seen at a time: a trial that steps runs,
// whether or not its launcher said so.
func (q *queueing) seenRunning(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queueing && q.begun.IsZero() {
		q.begun = at
	}
}

// waiting reports whether the trial waits for nodes.
func (q *queueing) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queueing && q.begun.IsZero()
}

// beginning returns when the trial began to run; when it was launched, if it
// did not wait or has not begun.
func (q *queueing) beginning() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
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

// signalOnce leaves a value in a channel that holds one, unless it has one.
func signalOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
