package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Change is a change of one object.
type Change[T any] struct {
	Deleted bool // Object is its last known state
	Object  T
}

// Watch selects the objects to follow, and limits how long the server may be down.
type Watch struct {
	Path     string             // a collection
	Selector metav1.ListOptions // labels and fields
	// OutageTimeout is how long the server may not answer; 0 means [OutageTimeout].
	OutageTimeout time.Duration
	// Down, if not nil, is called each time the server cannot be reached.
	Down func(error)
}

// OutageTimeout is longer than the upgrade of a control plane.
const OutageTimeout = 5 * time.Minute

// Follow calls changed for every object of a collection, and then for every
// change. It ends with the error of changed or of ctx, with an answer of the server
// that a repetition cannot change, or after Watch.OutageTimeout.
//
// An informer of client-go lists the collection, watches from that version,
// continues a watch that ends, and lists again if the server does not have the
// version any more: intermediate states may be missing, the last state never is.
func Follow[T any](ctx context.Context, c *Client, w Watch, changed func(Change[T]) error) error {
	w.OutageTimeout = cmp.Or(w.OutageTimeout, OutageTimeout)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tell := func(o any, deleted bool) {
		if ctx.Err() != nil {
			return
		}
		change := Change[T]{Deleted: deleted}
		text, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(text, &change.Object)
		}
		if err != nil {
			stop(fmt.Errorf("watch %s: read an object: %w", w.Path, err))
		} else if err := changed(change); err != nil {
			stop(err)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: c.lister(w, stop),
		ObjectType:    &unstructured.Unstructured{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { tell(o, false) },
			UpdateFunc: func(before, after any) {
				was, is := before.(*unstructured.Unstructured), after.(*unstructured.Unstructured)
				if was.GetUID() != is.GetUID() {
					tell(was, true)
				}
				if was.GetResourceVersion() != is.GetResourceVersion() {
					tell(is, false)
				}
			},
			DeleteFunc: func(o any) {
				if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = missed.Obj
				}
				tell(o, true)
			},
		},
	})
	informer.RunWithContext(ctx)
	return context.Cause(ctx)
}

// lister lists and watches. It calls stop with a final answer, or after the outage timeout.
func (c *Client) lister(w Watch, stop func(error)) *cache.ListWatch {
	var down atomic.Pointer[time.Time] // when the server was first found not to answer; nil while it does
	judge := func(ctx context.Context, err error) {
		if err == nil {
			down.Store(nil)
			return
		}
		down.CompareAndSwap(nil, new(time.Now()))
		silent := time.Since(*down.Load())
		switch {
		case ctx.Err() != nil || hasCode(err, http.StatusGone): // the version is too old to continue from
		case !IsTemporary(err):
			stop(err)
		case silent > w.OutageTimeout:
			stop(fmt.Errorf("watch %s: no contact for %s: %w", w.Path, silent.Round(time.Second), err))
		case w.Down != nil:
			w.Down(err)
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			items, version, err := ListAll[map[string]any](ctx, c, w.Path, w.Selector)
			list := &unstructured.UnstructuredList{Object: map[string]any{}}
			list.SetResourceVersion(version)
			for _, o := range items {
				list.Items = append(list.Items, unstructured.Unstructured{Object: o})
			}
			judge(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector, o.FieldSelector, o.Watch, o.AllowWatchBookmarks = w.Selector.LabelSelector, w.Selector.FieldSelector, true, true
			events, err := with(c.rest.Get().AbsPath(w.Path), &o).MaxRetries(0).Watch(ctx)
			err = c.explain(err)
			judge(ctx, err)
			return events, err
		},
	}
}
