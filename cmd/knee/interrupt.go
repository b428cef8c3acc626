package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interrupts ends a command on signals. A command that can be drained finishes
// its running work at the first signal and aborts at the second; every other
// command ends at the first.
type interrupts struct {
	cancel  context.CancelFunc
	stderr  io.Writer
	signals chan os.Signal

	mu      sync.Mutex
	drain   chan struct{} // nil unless a command can be drained
	drained bool
	asked   time.Time // when SIGTERM came last
}

// echo is the time within which a second SIGTERM counts as the same one:
// timeout(1) sends it to its command and then to the process group.
const echo = 200 * time.Millisecond

func newInterrupts(ctx context.Context, stderr io.Writer) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(ctx)
	i := &interrupts{cancel: cancel, stderr: stderr, signals: make(chan os.Signal, 2)}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go i.listen()
	return ctx, i
}

func (i *interrupts) listen() {
	for s := range i.signals {
		i.hear(s, time.Now())
	}
}

// hear handles one signal.
func (i *interrupts) hear(s os.Signal, at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s == syscall.SIGTERM {
		last := i.asked
		i.asked = at
		if at.Sub(last) < echo {
			return
		}
	}
	if i.drain == nil || i.drained {
		if i.drained {
			fmt.Fprintln(i.stderr, "\nknee: stopping now; what was measured is kept")
		}
		i.cancel()
		return
	}
	i.drained = true
	fmt.Fprintln(i.stderr, "\nknee: finishing the running trials; interrupt again to stop them")
	close(i.drain)
}

// drainable returns a channel that the first interrupt closes.
func (i *interrupts) drainable() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.drain == nil {
		i.drain = make(chan struct{})
	}
	return i.drain
}

func (i *interrupts) close() {
	signal.Stop(i.signals)
	close(i.signals)
	i.cancel()
}
