package kubequeue

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"knee/internal/kube"
	"knee/operate/queue"
)

// Marks of jobs that Kueue queues.
const (
	kueueName    = "kueue.x-k8s.io/queue-name"  // label: Kueue decides when the job runs
	kueueElastic = "kueue.x-k8s.io/elastic-job" // annotation: a batch Job may be resized while it runs
)

// elastic reports whether Kueue lets the parallelism of a running Job change
// (ElasticJobsViaWorkloadSlices, Kueue 0.13).
func elastic(w workload) bool {
	return w.kind.name == "Job" && w.Annotations[kueueElastic] == "true"
}

// queued completes the description of a job in a queue of Kueue. A waiting job
// can be resized: Kueue updates its Workload from the suspended job (jobframework,
// ensureOneWorkload).
func (q *Queue) queued(w workload, roles []role, pods []corev1.Pod, j *queue.Job) {
	j.Held, j.HeldByUs = false, false
	switch {
	case w.suspended() && len(pods) == 0:
		j.InPlace, j.Reason = true, "it waits in the queue "+j.Queue+" of Kueue"
		if n, known := q.jobSets[w.Namespace+"/"+w.Name]; known && w.kind.jobSet && len(roles) > 0 {
			j.Workers = n * roles[0].gpus
		}
	case elastic(w):
		j.InPlace = true
	}
}

// jobSet has the fields of a JobSet that are read.
type jobSet struct {
	kube.Object
	Spec struct {
		ReplicatedJobs []struct {
			Name     string
			Replicas *int
			Template struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct{ Parallelism *int }
			}
		}
	}
}

// readJobSets reads how many pods train in each JobSet of a namespace: those of
// replicated jobs labelled with the step trainer, or, without a label, named node.
func (q *Queue) readJobSets(ctx context.Context, namespace string) error {
	path := kube.Path("jobset.x-k8s.io/v1alpha2", namespace, "jobsets")
	list, _, err := kube.ListAll[jobSet](ctx, q.client, path, metav1.ListOptions{})
	if err != nil && !kube.IsNotFound(err) {
		return fmt.Errorf("list %s: %w", path, err)
	}
	for _, s := range list {
		pods := 0
		for _, r := range s.Spec.ReplicatedJobs {
			step, marked := r.Template.Metadata.Labels["trainer.kubeflow.org/trainjob-ancestor-step"]
			if step == "trainer" || !marked && r.Name == "node" {
				pods += ptr.Deref(r.Replicas, 1) * ptr.Deref(r.Template.Spec.Parallelism, 1)
			}
		}
		q.jobSets[s.Namespace+"/"+s.Name] = pods
	}
	return nil
}
