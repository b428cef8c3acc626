package tiresias

import (
	"cmp"
	"slices"
)

// byKey serves the job of the smallest key first. The sort is stable and in
// place, so that ties keep the order that earlier events left.
type byKey func(*job) int64

func (byKey) arrive(*job)         {}
func (byKey) leave(*job)          {}
func (byKey) account(*job, bool)  {}
func (byKey) settled(int64) int64 { return never }

func (key byKey) order(runnable []*job) []*job {
	slices.SortStableFunc(runnable, func(a, b *job) int { return cmp.Compare(key(a), key(b)) })
	return runnable
}

// waits is the key by which what runs keeps running.
func waits(j *job) int64 {
	if j.running {
		return 0
	}
	return 1
}
