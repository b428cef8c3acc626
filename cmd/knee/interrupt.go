package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns signals into an orderly end. A command that can be
// drained gets one signal to finish what it is doing and a second to abort;
// every other command ends at the first.
type interrupts struct {
	cancel  context.CancelFunc
	stderr  io.Writer
	signals chan os.Signal

	mu      sync.Mutex
	drain   chan struct{} // nil unless a command can be drained
	drained bool
}

func newInterrupts(ctx context.Context, stderr io.Writer) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(ctx)
	i := &interrupts{cancel: cancel, stderr: stderr, signals: make(chan os.Signal, 2)}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go i.listen()
	return ctx, i
}

func (i *interrupts) listen() {
	for range i.signals {
		i.mu.Lock()
		if i.drain == nil || i.drained {
			if i.drained {
				fmt.Fprintln(i.stderr, "\nknee: stopping now; what was measured is kept")
			}
			i.cancel()
		} else {
			i.drained = true
			fmt.Fprintln(i.stderr, "\nknee: finishing the running trials; interrupt again to stop them")
			close(i.drain)
		}
		i.mu.Unlock()
	}
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
