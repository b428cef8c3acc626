package queue

import (
	"context"
	"fmt"
	"io"
	"time"

	"knee/data"
)

// Bounded is a [Scheduler] with a time limit for each call, so that a call that
// hangs fails.
type Bounded struct {
	Scheduler
	Limit time.Duration
}

// within makes a call with a time limit, and names the limit in its error.
func within[T any](ctx context.Context, limit time.Duration, ask func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ask(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the scheduler has not answered within %s: %w", limit, err)
	}
	return answer, err
}

func (b Bounded) Read(ctx context.Context) (*Snapshot, error) {
	return within(ctx, b.Limit, b.Scheduler.Read)
}

func (b Bounded) Hold(ctx context.Context, j Job) error {
	_, err := within(ctx, b.Limit, func(ctx context.Context) (any, error) { return nil, b.Scheduler.Hold(ctx, j) })
	return err
}

func (b Bounded) Start(ctx context.Context, j Job, to []data.NodeShare) error {
	_, err := within(ctx, b.Limit, func(ctx context.Context) (any, error) { return nil, b.Scheduler.Start(ctx, j, to) })
	return err
}

// Log implements [Scheduler]. A log that is not an [io.Seeker] has to be read
// within the limit too.
func (b Bounded) Log(ctx context.Context, j Job, path string, since time.Time) (io.ReadCloser, error) {
	bounded, cancel := context.WithTimeout(ctx, b.Limit)
	r, err := b.Scheduler.Log(bounded, j, path, since)
	if err != nil {
		cancel()
		return nil, err
	}
	if file, ok := r.(io.ReadSeekCloser); ok {
		cancel()
		return file, nil
	}
	return canceling{r, cancel}, nil
}

// canceling cancels its context when it is closed.
type canceling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c canceling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
