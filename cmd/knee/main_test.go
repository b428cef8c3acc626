package main

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// timeout(1) sends SIGTERM twice; that is one wish to end, not an urgent one.
func TestInterruptsHearTimeoutOnce(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, tc := range []struct {
		name   string
		signal os.Signal
		after  time.Duration
		stops  bool
	}{
		{"timeout", syscall.SIGTERM, time.Millisecond, false},
		{"a second kill", syscall.SIGTERM, time.Second, true},
		{"Ctrl-C twice", os.Interrupt, time.Millisecond, true},
	} {
		ctx, i := newInterrupts(t.Context(), io.Discard)
		drain := i.drainable()
		i.hear(tc.signal, start)
		<-drain
		i.hear(tc.signal, start.Add(tc.after))
		if stopped := ctx.Err() != nil; stopped != tc.stops {
			t.Errorf("%s: stopped %v, want %v", tc.name, stopped, tc.stops)
		}
		i.close()
	}
}
