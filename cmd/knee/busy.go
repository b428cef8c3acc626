package main

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// busy says what a command is at when that takes long, for work that cannot
// tell how much of it is left: a line on a terminal that counts the seconds
// and disappears, a log line every 10 s otherwise. Nil says nothing.
type busy struct {
	stderr io.Writer
	log    *slog.Logger // nil on a terminal
	stop   chan struct{}
	done   sync.WaitGroup
	once   sync.Once

	mu   sync.Mutex
	what string
}

// patience is how long something may take before it is remarked on.
const patience = 2 * time.Second

// busy starts saying what is done, unless the user wants no progress.
func (a *app) busy(what string) *busy {
	if a.quiet {
		return nil
	}
	b := &busy{stderr: a.stderr, stop: make(chan struct{}), what: what}
	if !isTerminal(a.stderr) {
		b.log = a.logger()
	}
	b.done.Go(b.tick)
	return b
}

// now says what is done from now on.
func (b *busy) now(what string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = what
}

// end stops; calling it again does nothing.
func (b *busy) end() {
	if b == nil {
		return
	}
	b.once.Do(func() {
		close(b.stop)
		b.done.Wait()
	})
}

func (b *busy) tick() {
	every := time.Second
	if b.log != nil {
		every = 10 * time.Second
	}
	begun, drawn := time.Now(), false
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-b.stop:
			if drawn {
				fmt.Fprint(b.stderr, clearLine)
			}
			return
		case at := <-t.C:
			b.mu.Lock()
			what := b.what
			b.mu.Unlock()
			took := at.Sub(begun).Round(time.Second)
			switch {
			case b.log != nil:
				b.log.Info(what, "seconds", took.Seconds())
			case took >= patience:
				fmt.Fprintf(b.stderr, clearLine+"%s, %s", what, took)
				drawn = true
			}
		}
	}
}

// clearLine goes to the beginning of a terminal's line and empties it.
const clearLine = "\r\x1b[K"
