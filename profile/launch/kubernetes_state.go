package launch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"knee/data"
	"knee/internal/list"
)

func podCondition(p *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	for i, c := range p.Status.Conditions {
		if c.Type == of {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func jobIs(j *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if c.Type == of && c.Status == corev1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// podName returns the trial's name of a pod: "worker 0", "ps 1".
func podName(p *corev1.Pod) string {
	if i, ok := p.Annotations[indexAnnotation]; ok {
		return "worker " + i
	}
	if i := strings.LastIndex(p.Name, "-ps"); i >= 0 && p.Labels[labelRole] == "ps" {
		return "ps " + p.Name[i+len("-ps"):]
	}
	return p.Name
}

// trainer returns the state of the first container, which trains; zero if unknown.
func trainer(p *corev1.Pod) corev1.ContainerState {
	want := containerName(p)
	for _, s := range p.Status.ContainerStatuses {
		if want == "" || s.Name == want {
			return s.State
		}
	}
	return corev1.ContainerState{}
}

func containerName(p *corev1.Pod) string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// startedAt returns when the training container began to run, zero if it has not.
func startedAt(p *corev1.Pod) time.Time {
	switch state := trainer(p); {
	case state.Running != nil:
		return state.Running.StartedAt.Time
	case state.Terminated != nil:
		return state.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// admissionReasons are of nodes that reject a pod, as are those that begin with OutOf.
var admissionReasons = []string{"UnexpectedAdmissionError", "NodeAffinity"}

// disruptionReasons are those of nodes that lack resources or shut down.
var disruptionReasons = []string{"Evicted", "Preempting", "Preempted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated"}

// disruption returns why Kubernetes evicted or rejected a pod, else empty.
func disruption(p *corev1.Pod) string {
	if c := podCondition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return cmp.Or(c.Reason, "disrupted") + said(": ", cmp.Or(p.Status.Message, c.Message))
	}
	r := p.Status.Reason
	if slices.Contains(disruptionReasons, r) || p.Status.Phase == "Failed" && (slices.Contains(admissionReasons, r) || strings.HasPrefix(r, "OutOf")) {
		return r + said(": ", p.Status.Message)
	}
	return ""
}

// podEnd returns how a pod ended, for classify. ok is false before its end.
func podEnd(p *corev1.Pod) (end rankEnd, ok bool) {
	end.name = podName(p)
	if t := trainer(p).Terminated; t != nil {
		end.exit = int(t.ExitCode)
		if t.Reason == "OOMKilled" {
			// The node reports that the container's memory limit was reached.
			end.oom = "OOMKilled" + said(": ", t.Message)
			end.exit = cmp.Or(end.exit, exitKilled)
		}
		return end, true
	}
	if p.Status.Phase == "Failed" {
		end.exit, end.last = -1, cmp.Or(p.Status.Reason, "the pod failed")+said(": ", p.Status.Message)
		return end, true
	}
	return end, false
}

// hopeless are the reasons for which a container will never start.
var hopeless = []string{"InvalidImageName", "ErrImageNeverPull"}

// stuck are the reasons for which a container most likely will not start.
var stuck = []string{"ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}

// waitingFor returns why a pod does not run. final is true if it never will.
func waitingFor(p *corev1.Pod) (why string, final bool) {
	if w := trainer(p).Waiting; w != nil && w.Reason != "" {
		return fmt.Sprintf("%s: %s%s", podName(p), w.Reason, said(": ", w.Message)), slices.Contains(hopeless, w.Reason)
	}
	if c := podCondition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return fmt.Sprintf("%s: %s%s", podName(p), cmp.Or(c.Reason, "not scheduled"), said(": ", c.Message)), false
	}
	return fmt.Sprintf("%s: %s", podName(p), cmp.Or(string(p.Status.Phase), "no state")), false
}

// jobFailure is the failure in a job's conditions, used last: pods give more detail.
func jobFailure(j *batchv1.Job) *Failure {
	c := jobIs(j, batchv1.JobFailed)
	if c == nil {
		return nil
	}
	f := &Failure{Status: data.Failed, Detail: "the job failed: " + c.Reason + said(": ", c.Message)}
	switch {
	case c.Reason == "DeadlineExceeded":
		f.Status = data.Timeout
	case c.Reason == "PodFailurePolicy" && strings.Contains(c.Message, string(corev1.DisruptionTarget)):
		f.Preempted = true
	}
	return f
}

// verdict reads the remaining output and returns the first of: pods disrupted, out of memory,
// failed, a failed job, an unreadable line, no observation.
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
	return list.Map(slices.Sorted(maps.Keys(w.pods)), func(name string) *watchedPod { return w.pods[name] })
}

// inOrder returns the pods in the order in which they ended, then by name.
func (w *watcher) inOrder() []*watchedPod {
	pods := w.byName()
	end := func(p *watchedPod) time.Time {
		if t := trainer(&p.pod).Terminated; t != nil && !t.FinishedAt.IsZero() {
			return t.FinishedAt.Time
		}
		return time.Now()
	}
	slices.SortStableFunc(pods, func(a, b *watchedPod) int { return end(a).Compare(end(b)) })
	return pods
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
	ctx, cancel := context.WithTimeout(ctx, kubeLinger)
	defer cancel()
	for {
		select {
		case change := <-w.changes:
			_ = change() // a failure is known
		case <-ctx.Done():
			return
		}
	}
}

func (w *watcher) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for _, p := range w.byName() {
		if p.log == nil || p.log.running.Err() == nil {
			continue
		}
		select {
		case <-p.log.done:
		case <-ctx.Done():
			w.run.log.note("%s: gave up reading the rest of its output", p.log.out.name)
			return
		}
	}
}
