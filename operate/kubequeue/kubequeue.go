// Package kubequeue is the queue of a Kubernetes cluster: Jobs and
// PyTorchJobs, which can be suspended and resumed, and the pods of everyone,
// which occupy nodes.
//
// A job is held by suspending it, which removes its pods and keeps the job, and
// started by one patch of its number of replicas, its node affinity and the
// flag. Annotations say that knee and not its owner has suspended it, what its
// owner asked for, and which nodes knee has bound it to. A patch names the
// version it was made for: a job that was changed meanwhile is not changed.
package kubequeue

import (
	"context"
	"encoding/json"
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

	"knee/data"
	"knee/internal/kube"
	"knee/operate/queue"
)

// Annotations of jobs that knee operates.
const (
	heldBy    = "knee/held"      // "true": suspended by knee, or by an owner who leaves its start to knee
	askedFor  = "knee/requested" // replicas of each role that its owner asked for, "1,3"
	boundTo   = "knee/nodes"     // node names that knee has put into its affinity, "a,b"
	kueueName = "kueue.x-k8s.io/queue-name"
)

// Queue is the queue of the cluster that a client speaks to.
type Queue struct {
	client     *kube.Client
	namespaces []string
	audit      func(queue.Command) error
	types      map[string]string     // GPU type of each node, since the last Read
	pods       map[string][]kube.Pod // by the uid of the job that owns them, since then
}

// New returns the queue of some namespaces: of that of the client's context if
// there are none, of all if one is "*". audit is told of every change, before
// it is made and with its answer, and a change of which it returns an error is not
// made; it may be nil.
func New(client *kube.Client, namespaces []string, audit func(queue.Command) error) *Queue {
	switch {
	case slices.Contains(namespaces, "*"):
		namespaces = []string{""}
	case len(namespaces) == 0:
		namespaces = []string{client.Namespace}
	}
	if audit == nil {
		audit = func(queue.Command) error { return nil }
	}
	return &Queue{client: client, namespaces: namespaces, audit: audit}
}

// Read implements [queue.Scheduler]. The pods of every namespace are read,
// since they occupy the nodes that a plan divides.
func (q *Queue) Read(ctx context.Context) (*queue.Snapshot, error) {
	cluster, warnings, err := kube.Cluster(ctx, q.client)
	if err != nil {
		return nil, err
	}
	q.types = map[string]string{}
	for _, n := range cluster.Nodes {
		q.types[n.Name] = n.GPUType
	}
	pods, _, err := kube.ListAll[kube.Pod](ctx, q.client, kube.PodsPath(""), kube.Selector{})
	if err != nil {
		return nil, fmt.Errorf("list the pods of all namespaces, without which nobody knows what is free: %w", err)
	}
	pods = slices.DeleteFunc(pods, func(p kube.Pod) bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" })
	s := &queue.Snapshot{Cluster: cluster, Warnings: warnings}
	q.pods = map[string][]kube.Pod{}
	for _, p := range pods {
		for _, o := range p.Metadata.OwnerReferences {
			q.pods[o.UID] = append(q.pods[o.UID], p)
		}
	}
	taken := map[string]bool{} // uids of pods that belong to a job
	for _, k := range kinds() {
		for _, ns := range q.namespaces {
			list, _, err := kube.ListAll[workload](ctx, q.client, k.collection(ns), kube.Selector{})
			if kube.IsNotFound(err) {
				continue // this cluster has no such kind
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.collection(ns), err)
			}
			for _, w := range list {
				w.kind = k
				owned := q.podsOf(w, pods, taken)
				if len(owned) == 0 && (w.ended() || len(w.Metadata.OwnerReferences) > 0) {
					continue // of a job that was made for another, that one has the pods
				}
				j, err := q.job(w, owned, taken)
				if err != nil {
					return nil, fmt.Errorf("%s %s/%s: %w", k.name, w.Metadata.Namespace, w.Metadata.Name, err)
				}
				s.Jobs = append(s.Jobs, j)
			}
		}
	}
	err = errors.Join(q.strangers(s, pods, taken), q.quotas(ctx, s))
	queue.Sort(s.Jobs)
	return s, err
}

// quota is a ResourceQuota of Kubernetes.
type quota struct {
	kube.Object
	Spec struct {
		Hard map[string]string `json:"hard"`
	} `json:"spec"`
}

// quotas reads how many GPUs namespaces may have: the least that any of their
// quotas says.
func (q *Queue) quotas(ctx context.Context, s *queue.Snapshot) error {
	s.Quotas = map[string]int{}
	for _, ns := range q.namespaces {
		path := "/api/v1/resourcequotas"
		if ns != "" {
			path = "/api/v1/namespaces/" + ns + "/resourcequotas"
		}
		list, _, err := kube.ListAll[quota](ctx, q.client, path, kube.Selector{})
		if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
		for _, r := range list {
			for name, text := range r.Spec.Hard {
				if !strings.HasPrefix(name, "requests.") || !strings.HasSuffix(name, "/gpu") {
					continue
				}
				n, err := strconv.Atoi(text)
				if err != nil {
					return fmt.Errorf("quota %s/%s: %q of %s, want a whole number", r.Metadata.Namespace, r.Metadata.Name, text, name)
				}
				if least, known := s.Quotas[r.Metadata.Namespace]; !known || n < least {
					s.Quotas[r.Metadata.Namespace] = n
				}
			}
		}
	}
	return nil
}

// podsOf are the pods of a job that no other job has, and are kept by its uid.
func (q *Queue) podsOf(w workload, pods []kube.Pod, taken map[string]bool) []kube.Pod {
	owned := q.pods[w.Metadata.UID]
	if w.kind.pods != nil {
		owned = nil
		for _, p := range pods {
			if w.kind.pods(w, p) {
				owned = append(owned, p)
			}
		}
	}
	owned = slices.DeleteFunc(owned, func(p kube.Pod) bool { return taken[p.Metadata.UID] })
	q.pods[w.Metadata.UID] = owned
	return owned
}

// strangers adds what else stands on nodes: pods of other kinds and namespaces.
func (q *Queue) strangers(s *queue.Snapshot, pods []kube.Pod, taken map[string]bool) error {
	for _, p := range pods {
		if taken[p.Metadata.UID] || p.Spec.NodeName == "" {
			continue
		}
		n, err := q.slots(p)
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", p.Metadata.Namespace, p.Metadata.Name, err)
		}
		if n == 0 {
			continue
		}
		j := queue.Job{ID: p.Metadata.UID, Kind: "Pod", Name: p.Metadata.Name, Namespace: p.Metadata.Namespace, Labels: p.Metadata.Labels,
			State: queue.Running, Nodes: []data.NodeShare{{Node: p.Spec.NodeName, Workers: n}}, Workers: n, Requested: n,
			GPUType: q.types[p.Spec.NodeName], Priority: float64(p.Spec.Priority), Fixed: "it is a pod of no job that knee changes"}
		if t := p.Metadata.CreationTimestamp; t != nil {
			j.Submitted, j.Started = t.UTC(), t.UTC()
		}
		s.Jobs = append(s.Jobs, j)
	}
	return nil
}

// slots are what a pod takes of its node: GPUs, or whole cores of a node that
// has none.
func (q *Queue) slots(p kube.Pod) (int, error) {
	if q.types[p.Spec.NodeName] != "cpu" {
		return gpus(p.Spec)
	}
	var cores float64
	for _, c := range p.Spec.Containers {
		v, err := kube.Cores(c.Resources.Requests["cpu"])
		if err != nil {
			return 0, err
		}
		cores += v
	}
	return int(math.Ceil(cores)), nil
}

// job describes a job in the words of every scheduler.
func (q *Queue) job(w workload, pods []kube.Pod, taken map[string]bool) (queue.Job, error) {
	m := w.Metadata
	j := queue.Job{ID: m.UID, Kind: w.kind.name, Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Queue: m.Labels[kueueName],
		Requeue: true, Resizable: true, Held: w.suspended(), Handle: w}
	j.HeldByUs = j.Held && m.Annotations[heldBy] == "true"
	if m.CreationTimestamp != nil {
		j.Submitted = m.CreationTimestamp.UTC()
	}
	at := map[string]int{}
	for _, p := range pods {
		taken[p.Metadata.UID] = true
		if p.Spec.NodeName == "" {
			continue
		}
		n, err := q.slots(p)
		if err != nil {
			return j, err
		}
		if at[p.Spec.NodeName] == 0 && n > 0 {
			j.Nodes = append(j.Nodes, data.NodeShare{Node: p.Spec.NodeName})
		}
		at[p.Spec.NodeName] += n
		j.GPUType, j.Priority = q.types[p.Spec.NodeName], float64(p.Spec.Priority)
		if t := p.Metadata.CreationTimestamp; t != nil && (j.Started.IsZero() || t.Before(j.Started)) {
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
	switch bound := podsBound(pods); {
	case len(pods) == 0:
		j.State = queue.Pending
	case j.Held || w.ended():
		j.State = queue.Stopping
	case bound == pieces:
		j.State = queue.Running
	default:
		j.State, j.Reason = queue.Pending, fmt.Sprintf("%d of %d pods are on nodes", bound, pieces)
	}
	j.Fixed = fixed(w, roles, j)
	return j, nil
}

func podsBound(pods []kube.Pod) int {
	n := 0
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

// fixed returns why a job cannot be given another size and place.
func fixed(w workload, roles []role, j queue.Job) string {
	last := 0
	if len(roles) > 0 {
		last = roles[len(roles)-1].gpus
	}
	switch {
	case last == 0:
		return "it asks for no GPUs"
	case j.Queue != "":
		return "Kueue decides when it runs"
	case slices.ContainsFunc(roles, func(r role) bool { return r.gpus != last && (r.gpus > 0 || r.replicas != nil) }):
		return "its pods ask for different numbers of GPUs"
	case len(w.Metadata.OwnerReferences) > 0:
		return "it belongs to " + w.Metadata.OwnerReferences[0].Kind + " " + w.Metadata.OwnerReferences[0].Name
	case w.kind.fixed != nil:
		return w.kind.fixed(w)
	}
	return ""
}

// Log implements [queue.Scheduler]: the output of the first pod by name, which
// is that of rank 0, of those there were when the queue was last read.
func (q *Queue) Log(ctx context.Context, j queue.Job, path string, since time.Time) (io.ReadCloser, error) {
	if path != "" {
		return os.Open(path)
	}
	pods := q.pods[j.ID]
	if len(pods) == 0 {
		return nil, fs.ErrNotExist
	}
	first := slices.MinFunc(pods, func(a, b kube.Pod) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	o := kube.LogOptions{Since: since}
	if len(first.Spec.Containers) > 0 {
		o.Container = first.Spec.Containers[0].Name
	}
	return q.client.Logs(ctx, j.Namespace, first.Metadata.Name, o)
}

// Check implements [queue.Scheduler].
func (q *Queue) Check(j queue.Job, to []data.NodeShare) string {
	w, ok := j.Handle.(workload)
	if !ok {
		return "it was not read from Kubernetes"
	}
	if _, err := replicas(w, to); err != nil {
		return err.Error()
	}
	return ""
}

// replicas are the pods of each role of a job on nodes: every role but the last
// keeps what it has.
func replicas(w workload, to []data.NodeShare) ([]int, error) {
	roles, err := w.roles()
	if err != nil || len(roles) == 0 {
		return nil, errors.Join(errors.New("it has no pod template"), err)
	}
	each := max(1, roles[len(roles)-1].gpus)
	pods := 0
	for _, s := range to {
		if s.PS > 0 {
			return nil, errors.New("it has no parameter servers")
		}
		if s.Workers%each != 0 {
			return nil, fmt.Errorf("its pods have %d GPUs each, and %d on node %s is no multiple", each, s.Workers, s.Node)
		}
		pods += s.Workers / each
	}
	out := make([]int, len(roles))
	for i, r := range roles {
		out[i] = r.pods
		if i == len(roles)-1 {
			out[i] = pods
		}
		if r.gpus > 0 {
			pods -= out[i]
		}
	}
	last := out[len(out)-1]
	if last < 0 {
		return nil, fmt.Errorf("it has at least %d pods", len(roles)-1)
	}
	limits, _ := at(w.Spec, w.kind.limits).(map[string]any)
	for key, wrong := range map[string]func(limit int) bool{
		"minReplicas": func(l int) bool { return last < l },
		"maxReplicas": func(l int) bool { return last > l },
	} {
		if limit, ok := limits[key].(float64); ok && wrong(int(limit)) {
			return nil, fmt.Errorf("%d replicas are beyond its %s, %v", last, key, limit)
		}
	}
	return out, nil
}

// requested reads what the owner of a job asked for before knee changed it.
func requested(w workload) []int {
	var out []int
	for part := range strings.SplitSeq(w.Metadata.Annotations[askedFor], ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// Ended implements [queue.Scheduler].
func (q *Queue) Ended(ctx context.Context, j queue.Job) (well bool, how string) {
	w, ok := j.Handle.(workload)
	if !ok {
		return false, "it was not read from Kubernetes"
	}
	now := workload{}
	if err := q.client.Get(ctx, w.path(), &now); err != nil {
		return false, err.Error()
	}
	for _, c := range now.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Succeeded") {
			return true, c.Type
		}
		if c.Status == "True" && c.Type == "Failed" {
			how = c.Type + ": " + c.Message
		}
	}
	return false, how
}

// Hold implements [queue.Scheduler].
func (q *Queue) Hold(ctx context.Context, j queue.Job) error {
	w, ok := j.Handle.(workload)
	if !ok {
		return errors.New("it was not read from Kubernetes")
	}
	roles, err := w.roles()
	if err != nil {
		return err
	}
	notes := map[string]any{heldBy: "true"}
	if requested(w) == nil {
		var counts []string
		for _, r := range roles {
			counts = append(counts, strconv.Itoa(r.pods))
		}
		notes[askedFor] = strings.Join(counts, ",")
	}
	spec := map[string]any{}
	put(spec, w.kind.suspend, true)
	return q.patch(ctx, j, w, notes, spec)
}

// Start implements [queue.Scheduler].
func (q *Queue) Start(ctx context.Context, j queue.Job, to []data.NodeShare) error {
	w, ok := j.Handle.(workload)
	if !ok {
		return errors.New("it was not read from Kubernetes")
	}
	fresh := workload{}
	if err := q.client.Get(ctx, w.path(), &fresh); err != nil {
		return err
	}
	fresh.kind = w.kind
	switch {
	case fresh.Metadata.UID != j.ID:
		return errors.New("another job has its name now")
	case !fresh.suspended():
		return errors.New("it is not suspended")
	}
	roles, err := fresh.roles()
	if err != nil {
		return err
	}
	counts := requested(fresh)
	if len(to) > 0 {
		counts, err = replicas(fresh, to)
	}
	if err != nil || len(counts) != len(roles) {
		return errors.Join(errors.New("how many pods it should have is not known"), err)
	}
	nodes := []string{}
	for _, s := range to {
		nodes = append(nodes, s.Node)
	}
	was := strings.Split(fresh.Metadata.Annotations[boundTo], ",")
	notes := map[string]any{heldBy: nil, boundTo: nil}
	if len(nodes) > 0 {
		notes[boundTo] = strings.Join(nodes, ",")
	}
	spec := map[string]any{}
	put(spec, fresh.kind.suspend, false)
	if list, ok := at(fresh.Spec, fresh.kind.list).([]any); ok && len(list) > 0 {
		put(spec, fresh.kind.list, clone(list))
	}
	for i, r := range roles {
		if r.replicas != nil {
			put(spec, r.replicas, counts[i])
		}
		template, _ := at(fresh.Spec, r.template).(map[string]any)
		had := at(template, affinityPath) != nil
		switch terms := bound(template, was, nodes); {
		case terms != nil:
			put(spec, append(slices.Clone(r.template), affinityPath...), terms)
		case had:
			put(spec, append(slices.Clone(r.template), affinityPath[:len(affinityPath)-1]...), nil)
		}
	}
	return q.patch(ctx, j, fresh, notes, spec)
}

// patch changes a job as it was read, and has it written down.
func (q *Queue) patch(ctx context.Context, j queue.Job, w workload, notes, spec map[string]any) error {
	fields := map[string]any{"metadata": map[string]any{"annotations": notes, "resourceVersion": w.Metadata.ResourceVersion, "uid": w.Metadata.UID}, "spec": spec}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	c := queue.Command{Job: j.ID, Name: j.Namespace + "/" + j.Name, Command: []string{"PATCH", w.path(), string(text)}}
	if err := q.audit(c); err != nil {
		return err
	}
	err = q.client.Patch(ctx, w.path(), fields, nil)
	if c.Answered = true; err != nil {
		c.Error = err.Error()
	}
	return errors.Join(err, q.audit(c))
}
