package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"knee/operate/queue"
	"knee/operate/queuetest"
)

// hanging never answers.
type hanging struct{ *queuetest.Fake }

func (hanging) Read(ctx context.Context) (*queue.Snapshot, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestBounded(t *testing.T) {
	f := queuetest.New("n1")
	f.Logs["1"] = "a\n"
	b := queue.Bounded{Scheduler: hanging{f}, Limit: time.Millisecond}
	if _, err := b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "not answered within 1ms") {
		t.Errorf("a scheduler that hangs: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := b.Read(stopped); err == nil || strings.Contains(err.Error(), "not answered") {
		t.Errorf("a loop that is stopped: %v", err)
	}
	b.Scheduler = f
	if _, err := b.Read(t.Context()); err != nil {
		t.Errorf("one that answers: %v", err)
	}
	if r, err := b.Log(t.Context(), queue.Job{ID: "1"}, "", time.Time{}); err != nil || r.Close() != nil {
		t.Errorf("a log: %v", err)
	}
}
