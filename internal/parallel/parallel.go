// Package parallel runs independent work on all processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 to n−1 on all processors, in batches of the given size. Every
// goroutine gets its own f from worker. It returns the error of the lowest index
// that failed; calls for higher indices may be left out.
func Each(n, batch int, worker func() func(i int) error) error {
	batches := (n + batch - 1) / batch
	errs := make([]error, batches)
	var next, failed atomic.Int64
	failed.Store(int64(batches))
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), batches) {
		wg.Go(func() {
			f := worker()
			for b := next.Add(1) - 1; b < failed.Load(); b = next.Add(1) - 1 {
				for i := int(b) * batch; i < min(int(b+1)*batch, n) && errs[b] == nil; i++ {
					errs[b] = f(i)
				}
				for at := failed.Load(); errs[b] != nil && b < at && !failed.CompareAndSwap(at, b); at = failed.Load() {
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Do is [Each] for work that cannot fail and needs nothing of its own in a goroutine.
func Do(n, batch int, f func(i int)) {
	_ = Each(n, batch, func() func(int) error {
		return func(i int) error {
			f(i)
			return nil
		}
	})
}
