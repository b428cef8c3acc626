//go:build unix

package main

import (
	"testing"
	"time"
)

// A reader of output gets every line once and in order, is woken by the next
// one, and is told when there will be no more.
func TestOutput(t *testing.T) {
	o := newOutput()
	lines, closed, more := o.after(0)
	if len(lines) != 0 || closed {
		t.Fatalf("a new output has %d lines, closed %v; want none, open", len(lines), closed)
	}
	go func() {
		o.add("first\n")
		o.add("second\n")
		o.close()
	}()
	var got []string
	for !closed || len(lines) > 0 {
		select {
		case <-more:
		case <-time.After(time.Minute):
			t.Fatalf("nobody woke the reader after %q", got)
		}
		lines, closed, more = o.after(len(got))
		for _, l := range lines {
			got = append(got, l.text)
		}
		if closed {
			lines, _, _ = o.after(len(got))
		}
	}
	if len(got) != 2 || got[0] != "first\n" || got[1] != "second\n" {
		t.Errorf("read %q; want first, second", got)
	}
	if rest, closed, _ := o.after(2); len(rest) != 0 || !closed {
		t.Errorf("after the last line: %d lines, closed %v; want none, closed", len(rest), closed)
	}
}
