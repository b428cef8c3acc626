package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// trying says which input is being tried.
var trying atomic.Pointer[string]

// guardMemory ends the tests when the heap has grown beyond what any input
// may take, naming the input, rather than have the machine end them.
func guardMemory(t *testing.T) {
	const most = 3 << 30
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		var m runtime.MemStats
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if runtime.ReadMemStats(&m); m.HeapAlloc > most {
				fmt.Fprintf(os.Stderr, "%s: %d MiB of memory\n", *trying.Load(), m.HeapAlloc>>20)
				os.Exit(2)
			}
		}
	}()
}
