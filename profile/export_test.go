package profile

import "errors"

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
