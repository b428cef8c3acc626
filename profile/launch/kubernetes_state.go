package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"knee/data"
	"knee/internal/kube"
)

// disruptionTarget is the condition that Kubernetes sets on a pod it is about
// to end for an external reason (kubernetes.io, "Pod disruption conditions").
const disruptionTarget = "DisruptionTarget"

// podName returns the trial's name of a pod: "worker 0", "ps 1".
func podName(p *kube.Pod) string {
	if i, ok := p.Metadata.Annotations[indexAnnotation]; ok {
		return "worker " + i
	}
	if i := strings.LastIndex(p.Metadata.Name, "-ps"); i >= 0 && p.Metadata.Labels[labelRole] == "ps" {
		return "ps " + p.Metadata.Name[i+len("-ps"):]
	}
	return p.Metadata.Name
}

// trainer returns the state of the first container, which trains; zero if
// unknown.
func trainer(p *kube.Pod) kube.ContainerState {
	want := containerName(p)
	for _, s := range p.Status.ContainerStatuses {
		if want == "" || s.Name == want {
			return s.State
		}
	}
	return kube.ContainerState{}
}

func containerName(p *kube.Pod) string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// startedAt returns when the training container began to run, zero if it has not.
func startedAt(p *kube.Pod) time.Time {
	state := trainer(p)
	for _, s := range []*kube.Stage{state.Running, state.Terminated} {
		if s != nil && s.StartedAt != nil {
			return *s.StartedAt
		}
	}
	return time.Time{}
}

// admissionReasons are, beside those that begin with OutOf, such as OutOfcpu, those
// of a node that rejects a pod, whose devices are taken.
var admissionReasons = []string{"UnexpectedAdmissionError", "NodeAffinity"}

// disruptionReasons are those of nodes that lack resources or shut down.
var disruptionReasons = []string{"Evicted", "Preempting", "Preempted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated"}

// disruption returns why Kubernetes evicted or rejected a pod, else empty.
func disruption(p *kube.Pod) string {
	if c := meta.FindStatusCondition(p.Status.Conditions, disruptionTarget); c != nil && c.Status == "True" {
		return cmp.Or(c.Reason, "disrupted") + because(cmp.Or(p.Status.Message, c.Message))
	}
	r := p.Status.Reason
	if slices.Contains(disruptionReasons, r) || p.Status.Phase == "Failed" && (slices.Contains(admissionReasons, r) || strings.HasPrefix(r, "OutOf")) {
		return r + because(p.Status.Message)
	}
	return ""
}

// podEnd returns how a pod ended, for classify. ok is false before its end.
func podEnd(p *kube.Pod) (end rankEnd, ok bool) {
	end.name = podName(p)
	if t := trainer(p).Terminated; t != nil {
		end.exit = t.ExitCode
		if t.Reason == "OOMKilled" {
			// The node reports that the container's memory limit was reached.
			end.oom = "OOMKilled" + because(t.Message)
			end.exit = cmp.Or(end.exit, exitKilled)
		}
		return end, true
	}
	if p.Status.Phase == "Failed" {
		end.exit, end.last = -1, cmp.Or(p.Status.Reason, "the pod failed")+because(p.Status.Message)
		return end, true
	}
	return end, false
}

// hopeless are the reasons for which a container will never start.
var hopeless = []string{"InvalidImageName", "ErrImageNeverPull"}

// stuck are the reasons for which a container most likely will not start.
var stuck = []string{"ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}

// waitingFor returns why a pod does not run. final is true if it never will.
func waitingFor(p *kube.Pod) (why string, final bool) {
	if w := trainer(p).Waiting; w != nil && w.Reason != "" {
		return fmt.Sprintf("%s: %s%s", podName(p), w.Reason, because(w.Message)), slices.Contains(hopeless, w.Reason)
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, "PodScheduled"); c != nil && c.Status == "False" {
		return fmt.Sprintf("%s: %s%s", podName(p), cmp.Or(c.Reason, "not scheduled"), because(c.Message)), false
	}
	return fmt.Sprintf("%s: %s", podName(p), cmp.Or(p.Status.Phase, "no state")), false
}

// jobFailure returns the failure a job's conditions report, nil if none. It is
// used last: pods give more detail, if they still exist.
func jobFailure(j *kube.Job) *Failure {
	c := meta.FindStatusCondition(j.Status.Conditions, "Failed")
	if c == nil || c.Status != "True" {
		return nil
	}
	f := &Failure{Status: data.Failed, Exit: -1, Detail: "the job failed: " + c.Reason + because(c.Message)}
	switch {
	case c.Reason == "DeadlineExceeded":
		f.Status = data.Timeout
	case c.Reason == "PodFailurePolicy" && strings.Contains(c.Message, disruptionTarget):
		f.Preempted = true
	}
	return f
}

func jobSucceeded(j *kube.Job) bool {
	return meta.IsStatusConditionTrue(j.Status.Conditions, "Complete") || meta.IsStatusConditionTrue(j.Status.Conditions, "SuccessCriteriaMet")
}
