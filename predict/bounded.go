package predict

import (
	"context"
	"runtime"
	"sync"
)

// eachBounded calls f for 0 to n−1, at most parallel calls at a time, one
// per processor if that is 0. After an error no further calls are started;
// of the errors, the one with the lowest index is returned, or that of ctx.
func eachBounded(ctx context.Context, n, parallel int, f func(i int) error) error {
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, parallel) {
		wg.Go(func() {
			for i := range next {
				if errs[i] = f(i); errs[i] != nil {
					cancel()
				}
			}
		})
	}
	for i := range n {
		if within.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
