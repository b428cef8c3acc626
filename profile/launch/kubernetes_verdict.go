package launch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"knee/data"
)

// verdict reads the remaining output and returns how the trial ended; the first
// of these counts: pods disrupted, out of memory, failed, a failed job, an
// unreadable line, no observation.
func (w *watcher) verdict(ctx context.Context, known error) error {
	if known == nil {
		w.linger(ctx)
	}
	w.drain(ctx)
	select {
	case err := <-w.broken:
		return err
	default:
	}
	var ends []rankEnd
	last := ""
	for _, p := range w.inOrder() {
		if why := disruption(&p.pod); why != "" {
			return &Failure{Status: data.Failed, Preempted: true, Detail: podName(&p.pod) + " was taken away: " + why}
		}
		end, ok := podEnd(&p.pod)
		if p.log != nil {
			said, oom := p.log.words()
			end.last, end.oom = cmp.Or(said, end.last), cmp.Or(end.oom, oom)
			last = cmp.Or(said, last)
		}
		if ok {
			// The exit code of a pod that is being deleted has no meaning.
			end.killed = p.pod.DeletionTimestamp != nil
			ends = append(ends, end)
		}
	}
	if f := classify(ends); f != nil {
		return f
	}
	if known != nil {
		return known
	}
	return w.lastWord(last)
}

func (w *watcher) byName() []*watchedPod {
	var list []*watchedPod
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		list = append(list, w.pods[name])
	}
	return list
}

// inOrder returns the pods in the order in which they ended, then by name.
func (w *watcher) inOrder() []*watchedPod {
	list := w.byName()
	end := func(p *watchedPod) time.Time {
		if t := trainer(&p.pod).Terminated; t != nil && !t.FinishedAt.IsZero() {
			return t.FinishedAt.Time
		}
		return time.Now()
	}
	slices.SortStableFunc(list, func(a, b *watchedPod) int { return end(a).Compare(end(b)) })
	return list
}

func (w *watcher) lastWord(last string) error {
	for _, p := range w.byName() {
		if _, ok := podEnd(&p.pod); p.deleted && !ok {
			return &Failure{Status: data.Failed, Preempted: true, Detail: podName(&p.pod) + " was removed from the cluster during the trial"}
		}
	}
	if w.job != nil {
		if f := jobFailure(w.job); f != nil {
			f.Detail += said(": ", last)
			return f
		}
	}
	return w.run.heard.verdict(last)
}

// linger handles changes for kubeLinger, unless all went well.
func (w *watcher) linger(ctx context.Context) {
	if well, failed := w.tally(); well && !failed {
		return
	}
	timer := time.NewTimer(kubeLinger)
	defer timer.Stop()
	for {
		select {
		case change := <-w.changes:
			_ = change() // a failure is known
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *watcher) drain(ctx context.Context) {
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	for _, p := range w.byName() {
		if p.log == nil || p.log.running.Err() == nil {
			continue
		}
		select {
		case <-p.log.done:
		case <-timer.C:
			w.run.log.note("%s: gave up reading the rest of its output", p.log.out.name)
			return
		case <-ctx.Done():
			return
		}
	}
}
