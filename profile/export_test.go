package profile

import (
	"errors"

	"knee/profile/launch"
)

// Silence stops the heartbeat of a shared storage, as a host that sleeps
// does.
func Silence(s Storage) {
	d := s.(*Database)
	close(d.stop)
	d.stopped.Wait()
	d.stop = make(chan struct{})
}

// errGone is what an unreachable database says in tests.
var errGone = errors.New("connection refused")

// CurveOf is what is kept of the steps of a trial.
var CurveOf = curveOf

// Steps returns what a meter has been given.
func (m *Meter) Steps() []launch.Observation { return m.steps }
