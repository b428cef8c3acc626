package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
)

// Change is a change of one object.
type Change[T any] struct {
	Deleted bool // Object is its last known state
	Object  T
}

// Watched is a pointer to an object that can be watched.
type Watched[T any] interface {
	*T
	Meta() *Meta
}

// Watch selects the objects to follow, and limits how long the server may be down.
type Watch struct {
	Path     string // a collection
	Selector Selector
	// OutageTimeout is how long the server may be unreachable before Follow
	// returns an error; 0 means 5 minutes.
	OutageTimeout time.Duration
	// Down, if not nil, is called each time the server cannot be reached.
	Down func(error)
}

// defaultOutageTimeout is longer than the upgrade of a control plane.
const defaultOutageTimeout = 5 * time.Minute

// watchTimeout is how long the server keeps one watch open. The client then opens
// the next, so a connection that is lost unnoticed costs at most this time.
const watchTimeout = 5 * time.Minute

// Follow calls changed for every object of a collection, and then for every
// change. It ends with the error of changed or of ctx, with an answer of the server
// that a repetition cannot change, or after Watch.OutageTimeout.
//
// It lists the collection and watches from that version. A watch that ends is
// continued from its last version. If the server does not have that version any
// more (410 Gone), Follow lists again and reports the difference: intermediate
// states may be missing, the last state never is.
func Follow[T any, P Watched[T]](ctx context.Context, c *Client, w Watch, changed func(Change[T]) error) error {
	if w.OutageTimeout == 0 {
		w.OutageTimeout = defaultOutageTimeout
	}
	f := &follower[T, P]{client: c, watch: w, changed: changed, known: map[string]T{}}
	f.alive()
	pause := backoff()
	for {
		err := f.round(ctx)
		var stop *stopError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &stop):
			return stop.err
		case err == nil || isGone(err):
			pause = backoff()
		case !IsTemporary(err):
			return err
		default:
			if err := f.down(err); err != nil {
				return err
			}
		}
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
		}
	}
}

type follower[T any, P Watched[T]] struct {
	client  *Client
	watch   Watch
	changed func(Change[T]) error
	known   map[string]T // by namespace/name

	answered atomic.Int64 // when the server last answered, Unix ns
	broken   context.CancelCauseFunc
}

func keyOf[T any, P Watched[T]](o P) string { return o.Meta().Namespace + "/" + o.Meta().Name }

type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }

func (f *follower[T, P]) alive() { f.answered.Store(time.Now().UnixNano()) }

// down reports an unreachable server; an error after OutageTimeout.
func (f *follower[T, P]) down(err error) error {
	if f.watch.Down != nil {
		f.watch.Down(err)
	}
	if silent := time.Since(time.Unix(0, f.answered.Load())); silent > f.watch.OutageTimeout {
		return &stopError{fmt.Errorf("watch %s: no contact for %s: %w", f.watch.Path, silent.Round(time.Second), err)}
	}
	return nil
}

// round lists and watches until a new list is needed.
func (f *follower[T, P]) round(ctx context.Context) error {
	version, err := f.list(ctx)
	if err != nil {
		return err
	}
	f.alive()
	ctx, f.broken = context.WithCancelCause(ctx)
	defer f.broken(nil)
	events, err := watchtools.NewRetryWatcherWithContext(ctx, version, f)
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		f.alive()
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		if err := f.event(e); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// WatchWithContext opens one watch, for the retrying watcher. An error that a
// repetition cannot change ends the round.
func (f *follower[T, P]) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	r := f.watch.Selector.set(f.client.rest.Get().AbsPath(f.watch.Path)).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", o.ResourceVersion).Param("timeoutSeconds", fmt.Sprint(int(watchTimeout.Seconds())))
	w, err := r.MaxRetries(0).Watch(ctx)
	err = f.client.explain(err)
	switch {
	case err == nil:
		f.alive()
	case ctx.Err() != nil:
	case isGone(err), !IsTemporary(err):
		f.broken(err)
	default:
		if stop := f.down(err); stop != nil {
			f.broken(stop)
		}
	}
	return w, err
}

func (f *follower[T, P]) event(e watch.Event) error {
	o, err := decoded[T](e.Object)
	if err != nil {
		return fmt.Errorf("watch %s: read an object: %w", f.watch.Path, err)
	}
	key := keyOf[T, P](&o)
	if e.Type == watch.Deleted {
		delete(f.known, key)
		return f.tell(Change[T]{Deleted: true, Object: o})
	}
	f.known[key] = o
	return f.tell(Change[T]{Object: o})
}

func decoded[T any](from runtime.Object) (o T, err error) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// list reads the collection and reports its differences from the known objects.
func (f *follower[T, P]) list(ctx context.Context) (version string, err error) {
	items, version, err := ListAll[T](ctx, f.client, f.watch.Path, f.watch.Selector)
	if err != nil {
		return "", err
	}
	now := make(map[string]T, len(items))
	for _, o := range items {
		now[keyOf[T, P](&o)] = o
	}
	for _, key := range slices.Sorted(maps.Keys(f.known)) {
		was := f.known[key]
		if is, ok := now[key]; ok && P(&is).Meta().UID == P(&was).Meta().UID {
			continue
		}
		delete(f.known, key)
		if err := f.tell(Change[T]{Deleted: true, Object: was}); err != nil {
			return "", err
		}
	}
	for i := range items {
		key := keyOf[T, P](&items[i])
		was, ok := f.known[key]
		f.known[key] = items[i]
		if ok && P(&was).Meta().ResourceVersion == P(&items[i]).Meta().ResourceVersion {
			continue
		}
		if err := f.tell(Change[T]{Object: items[i]}); err != nil {
			return "", err
		}
	}
	return version, nil
}

func (f *follower[T, P]) tell(c Change[T]) error {
	if err := f.changed(c); err != nil {
		return &stopError{err}
	}
	return nil
}
