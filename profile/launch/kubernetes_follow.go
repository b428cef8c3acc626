package launch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"knee/data"
	"knee/internal/kube"
)

// Times of following a trial.
const (
	// kubeLinger is how long pods may report after a failure, which is often not the cause.
	kubeLinger = 3 * time.Second
	// drainTimeout bounds reading the remaining output of ended pods.
	drainTimeout = 30 * time.Second
	// stuckAfter is how long pulling an image may fail: registries have short outages.
	stuckAfter = 2 * time.Minute
)

// watcher is the state of following a trial, used by one goroutine.
type watcher struct {
	run    *kubeRun
	ctx    context.Context // of the readers of output
	pods   map[string]*watchedPod
	job    *batchv1.Job
	begun  bool
	since  time.Time // when following began
	stuck  map[string]time.Time
	expect int // pods of the trial, servers included

	changes chan func() *Failure // handle a change, in order
	broken  chan error           // why a watch ended, or output cannot be read
}

type watchedPod struct {
	pod     corev1.Pod
	log     *podLog // nil until it runs
	deleted bool
}

func (r *kubeRun) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shape, err := r.kube.shapeOf(r.trial.Config)
	if err != nil {
		return err
	}
	w := &watcher{run: r, ctx: ctx, pods: map[string]*watchedPod{}, since: time.Now(), stuck: map[string]time.Time{},
		expect: shape.Pods + r.trial.Config.PS, changes: make(chan func() *Failure), broken: make(chan error, 1)}
	go watch(ctx, w, "follow job "+r.name, kube.JobsPath(r.kube.Spec.Namespace), w.jobChanged)
	go watch(ctx, w, "follow the pods of job "+r.name, kube.PodsPath(r.kube.Spec.Namespace), w.podChanged)
	over, err := w.loop(ctx)
	if ctx.Err() != nil || !over {
		return err
	}
	return w.verdict(ctx, err)
}

// watch sends the changes of the trial's objects of one kind.
func watch[T any](ctx context.Context, w *watcher, doing, path string, changed func(kube.Change[T]) *Failure) {
	r := w.run
	down := func(err error) { r.log.note("%v", err) }
	w.fail(doing, kube.Follow(ctx, r.kube.Client, kube.Watch{Path: path, Selector: r.selector(), Down: down}, func(c kube.Change[T]) error {
		select {
		case w.changes <- func() *Failure { return changed(c) }:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
}

func (w *watcher) fail(doing string, err error) {
	select {
	case w.broken <- fmt.Errorf("%s: %w", doing, err):
	default:
	}
}

// loop handles changes until the trial is over, or the launcher fails with an error.
func (w *watcher) loop(ctx context.Context) (over bool, err error) {
	tick := time.Tick(time.Second)
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case err := <-w.broken:
			return false, err
		case change := <-w.changes:
			if f := change(); f != nil {
				return true, f
			}
		case <-tick:
			if f := w.waitedEnough(); f != nil {
				return true, f
			}
		}
		well, failed := w.tally()
		if well || failed || w.job != nil && jobFailure(w.job) != nil || w.run.heard.unread() != nil {
			return true, nil
		}
	}
}

func (w *watcher) jobChanged(c kube.Change[batchv1.Job]) *Failure {
	if c.Deleted {
		return &Failure{Status: data.Failed, Detail: fmt.Sprintf("job %s was deleted by somebody else", w.run.name)}
	}
	w.job = &c.Object
	return nil
}

func (w *watcher) podChanged(c kube.Change[corev1.Pod]) *Failure {
	name := c.Object.Name
	p := w.pods[name]
	if p == nil {
		p = &watchedPod{}
		w.pods[name] = p
	}
	if p.pod.Spec.NodeName == "" && c.Object.Spec.NodeName != "" {
		w.run.log.note("%s is on node %s", podName(&c.Object), c.Object.Spec.NodeName)
	}
	p.pod, p.deleted = c.Object, c.Deleted
	if p.log == nil && !c.Deleted && (!startedAt(&p.pod).IsZero() || trainer(&p.pod).Terminated != nil) {
		p.log = &podLog{run: w.run, fail: w.fail, pod: name, from: containerName(&p.pod), out: output{heard: w.run.heard, name: podName(&p.pod), rank: UnknownRank},
			done: make(chan struct{})}
		p.log.running, p.log.end = context.WithCancel(context.Background())
		go p.log.read(w.ctx)
	}
	if _, ended := podEnd(&p.pod); p.log != nil && (ended || c.Deleted) {
		p.log.end()
	}
	w.noticeBegin()
	return nil
}

// noticeBegin reports when the last pod began to run, once all run.
func (w *watcher) noticeBegin() {
	if w.begun || len(w.pods) < w.expect {
		return
	}
	var last time.Time
	for _, p := range w.pods {
		at := startedAt(&p.pod)
		if at.IsZero() {
			return
		}
		if at.After(last) {
			last = at
		}
	}
	w.begun = true
	w.run.log.note("all %d pods run", w.expect)
	if w.run.trial.Began != nil {
		w.run.trial.Began(last)
	}
}

// tally reports whether all workers succeeded, and whether a pod failed or was taken away.
func (w *watcher) tally() (well, failed bool) {
	left := w.expect - w.run.trial.Config.PS
	for _, p := range w.pods {
		end, ok := podEnd(&p.pod)
		switch {
		case disruption(&p.pod) != "", p.deleted && !ok, ok && end.exit != 0:
			failed = true
		case ok && p.pod.Labels[labelRole] != "ps":
			left--
		}
	}
	return left == 0, failed
}

// waitedEnough is the failure of a trial whose pods cannot start or wait too long.
func (w *watcher) waitedEnough() *Failure {
	if w.begun {
		return nil
	}
	for name, p := range w.pods {
		why, final := waitingFor(&p.pod)
		if held := trainer(&p.pod).Waiting; !final && (held == nil || !slices.Contains(stuck, held.Reason)) {
			delete(w.stuck, name)
			continue
		}
		if w.stuck[name].IsZero() {
			w.stuck[name] = time.Now()
		}
		if final || time.Since(w.stuck[name]) > stuckAfter {
			return &Failure{Status: data.Failed, Detail: why}
		}
	}
	if limit := w.run.kube.Spec.MaxWait; limit > 0 && time.Since(w.since) > limit {
		status := data.Queued
		if len(w.stuck) > 0 {
			status = data.Failed // it has nodes, but an image is missing, for example
		}
		return &Failure{Status: status, Detail: fmt.Sprintf("waited %s for its pods to run: %s", data.FormatDuration(limit), w.whyWaiting())}
	}
	return nil
}

func (w *watcher) whyWaiting() string {
	if w.job != nil && (jobIs(w.job, batchv1.JobSuspended) != nil || ptr.Deref(w.job.Spec.Suspend, false)) {
		return "the job is suspended, perhaps by a queue that has not admitted it"
	}
	for _, p := range w.byName() {
		if startedAt(&p.pod).IsZero() {
			why, _ := waitingFor(&p.pod)
			if v := w.run.kube.gpuLabelValues(w.ctx, w.run.trial.Config.GPUType); v != nil && strings.Contains(why, "affinity/selector") {
				why += fmt.Sprintf(" (it requests nodes with %s=%s; gpu_types in the study sets other values)", w.run.kube.Spec.GPULabel, strings.Join(v, " or "))
			}
			return why
		}
	}
	return cmp.Or(w.warning(), fmt.Sprintf("%d of %d pods were created", len(w.pods), w.expect))
}

// warning returns the job's newest warning event, such as why it created no pods.
func (w *watcher) warning() string {
	events, _, err := kube.ListAll[corev1.Event](w.ctx, w.run.kube.Client, kube.Path("v1", w.run.kube.Spec.Namespace, "events"),
		metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.name=" + w.run.name})
	if err != nil || len(events) == 0 {
		return ""
	}
	newest := slices.MaxFunc(events, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return newest.Reason + said(": ", newest.Message)
}
