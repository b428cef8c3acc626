// Package kubequeue is the queue of a Kubernetes cluster: Jobs, PyTorchJobs,
// RayJobs and TrainJobs, and all other pods, which occupy nodes.
//
// To hold a job is to suspend it, which removes its pods and keeps the job. To
// start it is one patch of its number of replicas, its node affinity and the
// suspend flag. Annotations record that knee has suspended it, what its owner
// requested, and the nodes to which knee has bound it. A patch names the version
// it was made for, and fails if the job was changed since.
package kubequeue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"knee/data"
	"knee/internal/kube"
	"knee/operate/queue"
)

// Annotations of jobs that knee operates.
const (
	heldBy   = "knee/held"      // "true": suspended by knee, or by an owner who leaves its start to knee
	askedFor = "knee/requested" // replicas of each role that its owner asked for, "1,3"
	boundTo  = "knee/nodes"     // nodes that knee has put into its affinity, "a,b"
)

// Queue is the queue of one Kubernetes cluster. It implements [queue.Scheduler].
type Queue struct {
	client     *kube.Client
	namespaces []string
	audit      func(queue.Command) error
	types      map[string]string          // GPU type of each node, since the last Read
	nodes      map[string]*node           // since then
	jobSets    map[string]int             // pods of each JobSet, by namespace/name, since then
	pods       map[types.UID][]corev1.Pod // by the uid of the job that owns them, since then
}

// New returns the queue of the jobs in namespaces; none: the namespace of the client's
// context; "*": all. audit, which may be nil, is called with every change before it is
// made, and again with the answer; if it returns an error the change is not made.
func New(client *kube.Client, namespaces []string, audit func(queue.Command) error) *Queue {
	switch {
	case slices.Contains(namespaces, "*"):
		namespaces = []string{""}
	case len(namespaces) == 0:
		namespaces = []string{client.Namespace}
	}
	return &Queue{client: client, namespaces: namespaces, audit: audit}
}

// Read implements [queue.Scheduler]. The pods of every namespace are read,
// since they occupy nodes.
func (q *Queue) Read(ctx context.Context) (*queue.Snapshot, error) {
	nodes, err := kube.Nodes(ctx, q.client)
	if err != nil {
		return nil, err
	}
	cluster, warnings := kube.Describe(nodes)
	q.types, q.nodes = map[string]string{}, map[string]*node{}
	for _, n := range cluster.Nodes {
		q.types[n.Name] = n.GPUType
	}
	for _, n := range nodes {
		q.nodes[n.Name] = &node{n, corev1.ResourceList{}}
	}
	pods, _, err := kube.ListAll[corev1.Pod](ctx, q.client, kube.PodsPath(""), metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods of all namespaces, to know what is free: %w", err)
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" })
	s := &queue.Snapshot{Cluster: cluster, Warnings: warnings}
	q.pods, q.jobSets = map[types.UID][]corev1.Pod{}, map[string]int{}
	for _, p := range pods {
		for _, o := range p.OwnerReferences {
			q.pods[o.UID] = append(q.pods[o.UID], p)
		}
	}
	taken := map[types.UID]bool{} // uids of pods that belong to a job
	for _, k := range kinds() {
		for _, ns := range q.namespaces {
			list, _, err := kube.ListAll[workload](ctx, q.client, k.collection(ns), metav1.ListOptions{})
			if kube.IsNotFound(err) {
				continue // this cluster has no such kind
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.collection(ns), err)
			}
			if k.jobSet && len(list) > 0 {
				if err := q.readJobSets(ctx, ns); err != nil {
					return nil, err
				}
			}
			for _, w := range list {
				w.kind = k
				owned := q.podsOf(w, pods, taken)
				if len(owned) == 0 && (w.ended() || len(w.OwnerReferences) > 0) {
					continue // the job that created this one has its pods
				}
				j, err := q.job(w, owned, taken)
				if err != nil {
					return nil, fmt.Errorf("%s %s/%s: %w", k.name, w.Namespace, w.Name, err)
				}
				if roles, err := w.roles(); err == nil && j.Fixed == "" && !j.InPlace {
					j.Usable = q.usable(cluster, w, roles)
				}
				s.Jobs = append(s.Jobs, j)
				for _, p := range owned {
					if j.Fixed != "" {
						q.stays(p)
					}
				}
			}
		}
	}
	err = errors.Join(q.strangers(s, pods, taken), q.quotas(ctx, s))
	queue.Sort(s.Jobs)
	return s, err
}

// podsOf returns the pods of a job that are not taken by another, and keeps them in q.pods.
func (q *Queue) podsOf(w workload, pods []corev1.Pod, taken map[types.UID]bool) []corev1.Pod {
	owned := q.pods[w.UID]
	if w.kind.pods != nil {
		owned = nil
		for _, p := range pods {
			if w.kind.pods(w, p) {
				owned = append(owned, p)
			}
		}
	}
	owned = slices.DeleteFunc(owned, func(p corev1.Pod) bool { return taken[p.UID] })
	q.pods[w.UID] = owned
	return owned
}

// strangers adds the pods on nodes that belong to no job read: of other kinds and namespaces.
func (q *Queue) strangers(s *queue.Snapshot, pods []corev1.Pod, taken map[types.UID]bool) error {
	for _, p := range pods {
		if taken[p.UID] || p.Spec.NodeName == "" {
			continue
		}
		q.stays(p)
		n, err := q.slots(p, false)
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		if n == 0 {
			continue
		}
		j := queue.Job{ID: string(p.UID), Kind: "Pod", Name: p.Name, Namespace: p.Namespace, Labels: p.Labels,
			State: queue.Running, Nodes: []data.NodeShare{{Node: p.Spec.NodeName, Workers: n}}, Workers: n, Requested: n,
			GPUType: q.types[p.Spec.NodeName], Priority: float64(ptr.Deref(p.Spec.Priority, 0)), Fixed: "it is a pod of no job that knee changes"}
		j.Submitted, j.Started = p.CreationTimestamp.UTC(), p.CreationTimestamp.UTC()
		s.Jobs = append(s.Jobs, j)
	}
	return nil
}

// slots is what a pod takes of its node: GPUs, or cores, rounded up, of a node without GPUs,
// unless other pods of its job have GPUs.
func (q *Queue) slots(p corev1.Pod, ofGPUs bool) (int, error) {
	if ofGPUs || q.types[p.Spec.NodeName] != "cpu" {
		return gpus(p.Spec)
	}
	var cores float64
	for _, c := range p.Spec.Containers {
		cores += c.Resources.Requests.Cpu().AsApproximateFloat64()
	}
	return int(math.Ceil(cores)), nil
}

// job converts a job with its pods, and marks these as taken.
func (q *Queue) job(w workload, pods []corev1.Pod, taken map[types.UID]bool) (queue.Job, error) {
	m := w.ObjectMeta
	j := queue.Job{ID: string(m.UID), Kind: w.kind.name, Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Queue: m.Labels[kueueName],
		Submitted: m.CreationTimestamp.UTC(), Requeue: true, Resizable: w.resizable(), Held: w.suspended(), Handle: w}
	j.HeldByUs = j.Held && m.Annotations[heldBy] == "true"
	ofGPUs := slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		n, _ := gpus(p.Spec) // the loop below reports an error
		return n > 0
	})
	at, bound := map[string]int{}, 0 // GPUs by node, pods on nodes
	for _, p := range pods {
		taken[p.UID] = true
		if p.Spec.NodeName == "" {
			continue
		}
		bound++
		n, err := q.slots(p, ofGPUs)
		if err != nil {
			return j, err
		}
		if at[p.Spec.NodeName] == 0 && n > 0 {
			j.Nodes = append(j.Nodes, data.NodeShare{Node: p.Spec.NodeName})
		}
		at[p.Spec.NodeName] += n
		if n > 0 || j.GPUType == "" { // a head or a launcher may be on a node of another type
			j.GPUType = q.types[p.Spec.NodeName]
		}
		j.Priority = float64(ptr.Deref(p.Spec.Priority, 0))
		if t := p.CreationTimestamp; !t.IsZero() && (j.Started.IsZero() || t.Time.Before(j.Started)) {
			j.Started = t.UTC()
		}
	}
	for i := range j.Nodes {
		j.Nodes[i].Workers = at[j.Nodes[i].Node]
	}
	roles, err := w.roles()
	if err != nil {
		return j, err
	}
	pieces := 0
	for _, r := range roles {
		pieces += r.pods
		j.Workers += r.pods * r.gpus
	}
	j.Requested = j.Workers
	if n := requested(w); len(n) == len(roles) {
		j.Requested = 0
		for i, r := range roles {
			j.Requested += n[i] * r.gpus
		}
	}
	switch {
	case len(pods) == 0:
		j.State = queue.Pending
	case j.Held || w.ended():
		j.State = queue.Stopping
	case bound == pieces:
		j.State = queue.Running
	default:
		j.State, j.Reason = queue.Pending, fmt.Sprintf("pods on nodes: %d of %d", bound, pieces)
	}
	if j.Queue != "" {
		q.queued(w, roles, pods, &j)
	}
	j.Fixed = fixed(w, roles, j)
	return j, nil
}

// fixed returns why a job cannot have another size and other nodes, empty if it can.
func fixed(w workload, roles []role, j queue.Job) string {
	last := 0
	if len(roles) > 0 {
		last = roles[len(roles)-1].gpus
	}
	switch {
	case last == 0:
		return "it asks for no GPUs"
	case j.Queue != "" && !j.InPlace:
		return "Kueue has admitted it at this size, and resizes no running job but an elastic Job"
	case j.InPlace && !j.Resizable:
		return "Kubernetes does not change the completions of a Job that has no index for each of its pods"
	case slices.ContainsFunc(roles, func(r role) bool { return r.gpus != last && (r.gpus > 0 || r.replicas != nil) }):
		return "its pods request different numbers of GPUs"
	case len(w.OwnerReferences) > 0:
		return "it belongs to " + w.OwnerReferences[0].Kind + " " + w.OwnerReferences[0].Name
	case w.kind.fixed != nil:
		return w.kind.fixed(w, j.InPlace)
	}
	return ""
}

// Log implements [queue.Scheduler]: the output of the rank 0 pod of the last Read.
func (q *Queue) Log(ctx context.Context, j queue.Job, path string, since time.Time) (io.ReadCloser, error) {
	if path != "" {
		return os.Open(path)
	}
	pods := q.pods[types.UID(j.ID)]
	if len(pods) == 0 {
		return nil, fs.ErrNotExist
	}
	first := slices.MinFunc(pods, byRank)
	var o corev1.PodLogOptions
	if !since.IsZero() {
		o.SinceTime = new(metav1.NewTime(since))
	}
	if len(first.Spec.Containers) > 0 {
		o.Container = first.Spec.Containers[0].Name
	}
	return q.client.Logs(ctx, j.Namespace, first.Name, o)
}

// byRank orders the pods of a job: those with GPUs first, since others prepare
// data or coordinate, then by role and index of their operator, then by name.
func byRank(a, b corev1.Pod) int {
	idle := func(p corev1.Pod) int {
		if n, err := gpus(p.Spec); err == nil && n > 0 {
			return 0
		}
		return 1
	}
	index := func(p corev1.Pod) int {
		for _, label := range []string{"batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index"} {
			if n, err := strconv.Atoi(p.Labels[label]); err == nil {
				return n
			}
		}
		return 0
	}
	role := func(p corev1.Pod) string { return p.Labels["training.kubeflow.org/replica-type"] } // master, worker
	return cmp.Or(cmp.Compare(idle(a), idle(b)), strings.Compare(role(a), role(b)), cmp.Compare(index(a), index(b)), strings.Compare(a.Name, b.Name))
}

// quotas adds the GPU quotas of the namespaces to the limits of a snapshot.
func (q *Queue) quotas(ctx context.Context, s *queue.Snapshot) error {
	for _, ns := range q.namespaces {
		path := kube.Path("v1", ns, "resourcequotas")
		list, _, err := kube.ListAll[corev1.ResourceQuota](ctx, q.client, path, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
		for _, r := range list {
			for name, quantity := range r.Spec.Hard {
				if !strings.HasPrefix(string(name), "requests.") || !strings.HasSuffix(string(name), "/gpu") {
					continue
				}
				n, whole := quantity.AsInt64()
				if !whole {
					return fmt.Errorf("quota %s/%s: %q of %s, want a whole number", r.Namespace, r.Name, quantity.String(), name)
				}
				jobs := map[string]bool{}
				for _, j := range s.Jobs {
					jobs[j.ID] = j.Namespace == r.Namespace
				}
				s.Limits = append(s.Limits, queue.Limit{Name: "namespace " + r.Namespace, Tenant: r.Namespace, Most: int(n), Jobs: jobs})
			}
		}
	}
	return nil
}
