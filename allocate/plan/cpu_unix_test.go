//go:build unix

package plan

import "syscall"

// processorSeconds is the processor time of this process so far, which, unlike
// the clock, does not count what other processes took. It is 0 where it
// cannot be told.
func processorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return seconds64(u.Utime) + seconds64(u.Stime)
}

func seconds64(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
