package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// beat sends heartbeats on the control connections until the job ends.
func (g *group) beat() {
	members := g.memberLinks()
	go func() {
		tick := time.NewTicker(g.o.Timeout / beatsPerTTL)
		defer tick.Stop()
		for {
			select {
			case <-g.ctx.Done():
				return
			case <-tick.C:
				for _, l := range members {
					_ = l.send(kindBeat, 0, nil) // a broken connection shows when it is read
				}
			}
		}
	}()
}

// watch reads a control connection until its rank is done or the job fails.
func (g *group) watch(l *link) {
	for {
		h, payload, err := l.receive(g.step.Load(), g.o.Timeout)
		step := g.step.Load() // the step that was running when it happened, not when waiting began
		var pe *peerError
		switch {
		case errors.As(err, &pe):
			pe.step = step
			g.fail(pe)
			return
		case err != nil:
			g.fail(err)
			return
		case h.kind == kindAbort:
			g.fail(errors.New(string(payload)))
			return
		case h.kind == kindBye:
			g.left <- struct{}{}
			return
		case h.kind != kindBeat:
			g.fail(&peerError{l.peer, "broke the protocol", step, fmt.Errorf("sent a %s, want a heartbeat", h.kind)})
			return
		}
	}
}

// fail ends the job: rank 0 passes the reason on to all. Only the first
// reason counts, and only while the job runs.
func (g *group) fail(err error) {
	g.failing.Do(func() {
		if g.ctx.Err() != nil {
			return
		}
		if g.rank == 0 {
			g.broadcast(err.Error())
		}
		g.cancel(err)
	})
}

// broadcast sends a reason to all control connections, best effort: a rank
// that cannot be told finds out by its own broken connection.
func (g *group) broadcast(reason string) {
	for _, l := range g.memberLinks() {
		_ = l.send(kindAbort, 0, []byte(reason))
	}
}

// memberLinks returns the control connections made so far.
func (g *group) memberLinks() []*link {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.members)
}

// verdict returns the reason the job failed, given the error this rank ran
// into, and makes the others know it.
func (g *group) verdict(err error) error {
	if err == nil {
		return nil
	}
	own := err
	var pe *peerError
	if !errors.As(err, &pe) {
		own = fmt.Errorf("%s: %w", g.title(g.rank), err)
	}
	if g.parent.Err() != nil { // stopped from outside: say so before leaving
		cause := context.Cause(g.parent)
		g.broadcast(fmt.Sprintf("%s left during step %d: %v", g.title(g.rank), g.step.Load(), cause))
		return cause
	}
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	if g.rank == 0 {
		g.fail(own) // waits if another failure is just being told to all
		return context.Cause(g.ctx)
	}
	if len(g.memberLinks()) == 0 {
		return own // never met anyone who could know better
	}
	g.broadcast(own.Error())
	select {
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	case <-time.After(grace):
		return own
	}
}

// finish says goodbye. Rank 0 waits for the others' goodbyes, so that its
// leaving always means that the job is over.
func (g *group) finish() error {
	if g.rank != 0 {
		return g.members[0].send(kindBye, 0, nil)
	}
	for range g.members {
		select {
		case <-g.left:
		case <-g.ctx.Done():
			return context.Cause(g.ctx)
		}
	}
	return nil
}

// watchParent returns a context that ends when the parent process is no
// longer pid, so that a killed launcher leaves nothing behind. A process
// whose parent dies is handed to another at once, which is what shows.
func watchParent(ctx context.Context, pid int) (context.Context, context.CancelFunc) {
	if pid == 0 {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	check := func() bool {
		if p := os.Getppid(); p != pid {
			cancel(fmt.Errorf("the launcher, process %d, is gone: the parent is process %d", pid, p))
			return false
		}
		return true
	}
	go func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for check() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
