package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Change tells what became of one object.
type Change[T any] struct {
	Deleted bool // Object is what it last was
	Object  T
}

// Watched is a pointer to an object that can be watched.
type Watched[T any] interface {
	*T
	Meta() *Meta
}

// Watch says what to follow and for how long a silent server is borne with.
type Watch struct {
	Path     string // a collection
	Selector Selector
	// Patience is how long the server may be out of reach before Follow
	// gives up; 0 means 5 minutes.
	Patience time.Duration
	// Down, if not nil, is told each time the server is found out of reach.
	Down func(error)
}

// defaultPatience covers the upgrade of a control plane.
const defaultPatience = 5 * time.Minute

// Follow calls changed for every object of a collection as it is now, then
// synced (which may be nil), and then changed for every change, until changed
// returns an error or ctx is done, whose error it returns.
//
// It lists once and watches from there. A watch that ends is continued from
// the last version seen. If that version is too old for the server (410
// Gone), or nothing is known of what was missed, it lists again and reports
// the difference; intermediate states may then be missing, final ones never.
func Follow[T any, P Watched[T]](ctx context.Context, c *Client, w Watch, synced func(), changed func(Change[T]) error) error {
	if w.Patience == 0 {
		w.Patience = defaultPatience
	}
	f := follower[T, P]{client: c, watch: w, changed: changed, known: map[string]T{}}
	lastGood, pause := time.Now(), c.pause
	for {
		err := f.round(ctx, func() {
			lastGood, pause = time.Now(), c.pause
			if synced != nil {
				synced()
				synced = nil
			}
		})
		var stop *stopError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &stop):
			return stop.err
		case err != nil && !IsTemporary(err) && !isGone(err):
			return err
		case err != nil && !isGone(err):
			if w.Down != nil {
				w.Down(err)
			}
			if time.Since(lastGood) > w.Patience {
				return fmt.Errorf("watch %s: no contact for %s: %w", w.Path, time.Since(lastGood).Round(time.Second), err)
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			pause = min(2*pause, longestPause)
		}
	}
}

// follower is the state of one Follow.
type follower[T any, P Watched[T]] struct {
	client  *Client
	watch   Watch
	changed func(Change[T]) error
	known   map[string]T // by namespace/name
	version string       // to continue from; empty to list anew
}

// stopError carries the error of a callback out of the loop.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }

// round lists, if it has to, and watches until the connection ends. alive is
// called whenever the server has answered.
func (f *follower[T, P]) round(ctx context.Context, alive func()) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The header of a watch arrives at once, but its events when there are
	// any: only the former can be given a time limit.
	timer := time.AfterFunc(requestTimeout, cancel)
	resp, err := f.client.send(ctx, http.MethodGet, f.watch.Path, watchQuery(f.watch.Selector, f.version), nil)
	timer.Stop()
	if err != nil {
		if isGone(err) {
			f.version = ""
		}
		return err
	}
	defer resp.Body.Close()
	alive()
	// Twice the time after which the server was asked to end the watch.
	dead := time.AfterFunc(2*watchTimeout, cancel)
	defer dead.Stop()
	lines := json.NewDecoder(resp.Body)
	for {
		var e watchEvent
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return nil // the server ended the watch; go on from f.version
		} else if err != nil {
			return fmt.Errorf("watch %s: %w", f.watch.Path, err)
		}
		if err := f.event(e); err != nil {
			return err
		}
		alive()
	}
}

// event takes one event of a watch.
func (f *follower[T, P]) event(e watchEvent) error {
	if e.Type == "ERROR" {
		status := &StatusError{Method: http.MethodGet, Path: f.watch.Path, Code: http.StatusInternalServerError}
		status.fill(e.Object)
		f.version = "" // whatever it was, a new list sets it right
		return status
	}
	var o T
	if err := json.Unmarshal(e.Object, &o); err != nil {
		return fmt.Errorf("watch %s: read an object: %w", f.watch.Path, err)
	}
	meta := P(&o).Meta()
	if meta.ResourceVersion != "" {
		f.version = meta.ResourceVersion
	}
	key := meta.Namespace + "/" + meta.Name
	switch e.Type {
	case "BOOKMARK":
		return nil
	case "DELETED":
		delete(f.known, key)
		return f.tell(Change[T]{Deleted: true, Object: o})
	}
	f.known[key] = o
	return f.tell(Change[T]{Object: o})
}

// list reads the collection and tells the difference to what was known.
func (f *follower[T, P]) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	items, version, err := ListAll[T](ctx, f.client, f.watch.Path, f.watch.Selector)
	if err != nil {
		return err
	}
	now := make(map[string]T, len(items))
	for _, o := range items {
		meta := P(&o).Meta()
		now[meta.Namespace+"/"+meta.Name] = o
	}
	for _, key := range slices.Sorted(maps.Keys(f.known)) {
		was := f.known[key]
		if is, ok := now[key]; ok && P(&is).Meta().UID == P(&was).Meta().UID {
			continue
		}
		delete(f.known, key)
		if err := f.tell(Change[T]{Deleted: true, Object: was}); err != nil {
			return err
		}
	}
	for i := range items {
		meta := P(&items[i]).Meta()
		key := meta.Namespace + "/" + meta.Name
		was, ok := f.known[key]
		f.known[key] = items[i]
		if ok && P(&was).Meta().ResourceVersion == meta.ResourceVersion {
			continue
		}
		if err := f.tell(Change[T]{Object: items[i]}); err != nil {
			return err
		}
	}
	f.version = version
	return nil
}

func (f *follower[T, P]) tell(c Change[T]) error {
	if err := f.changed(c); err != nil {
		return &stopError{err}
	}
	return nil
}
