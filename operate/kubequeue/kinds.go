package kubequeue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"knee/internal/kube"
)

// workload is a job of any kind. Its spec is kept as JSON, so that a patch
// changes nothing else.
type workload struct {
	kube.Object
	Spec   map[string]any `json:"spec"`
	Status struct {
		Conditions  []metav1.Condition `json:"conditions"`
		StartTime   *string            `json:"startTime"`
		RayCluster  string             `json:"rayClusterName"`
		RayJob      string             `json:"jobStatus"`
		RayDeployed string             `json:"jobDeploymentStatus"`
		Message     string             `json:"message"`
	} `json:"status"`
	kind kind
}

// kind has the paths of the fields that knee changes in one kind of job. Paths
// begin at the spec; a number is an index of a list.
type kind struct {
	name, group, resource string
	suspend               []string   // path of the suspend flag
	templates             [][]string // paths of its pod templates; a job may lack some
	replicas              [][]string // paths of the number of pods of each template; nil or absent: one pod
	limits                []string   // path of the object with minReplicas and maxReplicas, nil if there is none
	list                  []string   // path of a list that the paths above cross; a merge patch replaces lists whole
	// pods reports whether a pod belongs to a job; nil: by owner reference.
	pods func(workload, corev1.Pod) bool
	// fixed returns why a job of the kind cannot be changed, empty if it can; nil: all can.
	fixed func(w workload, inPlace bool) string
	// jobSet: a JobSet of the job's name makes its pods, and may not follow a
	// change of their number.
	jobSet bool
}

// kinds lists the kinds of jobs that are read. A kind whose jobs create jobs of
// another kind comes before it. Pods of any other kind are fixed.
func kinds() []kind {
	torch, group := []string{"pytorchReplicaSpecs"}, []string{"rayClusterSpec", "workerGroupSpecs", "0"}
	under := func(base []string, names ...string) []string { return append(slices.Clone(base), names...) }
	return []kind{
		{name: "TrainJob", group: "trainer.kubeflow.org/v1alpha1", resource: "trainjobs", suspend: []string{"suspend"}, replicas: [][]string{{"trainer", "numNodes"}},
			pods: func(w workload, p corev1.Pod) bool {
				return p.Namespace == w.Namespace && p.Labels["jobset.sigs.k8s.io/jobset-name"] == w.Name
			}, fixed: fixedTrainJob, jobSet: true},
		{name: "RayJob", group: "ray.io/v1", resource: "rayjobs", suspend: []string{"suspend"},
			templates: [][]string{{"rayClusterSpec", "headGroupSpec", "template"}, under(group, "template")},
			replicas:  [][]string{nil, under(group, "replicas")}, limits: group, list: group[:2],
			pods: func(w workload, p corev1.Pod) bool {
				return w.Status.RayCluster != "" && p.Namespace == w.Namespace && p.Labels["ray.io/cluster"] == w.Status.RayCluster
			}, fixed: fixedRayJob},
		{name: "PyTorchJob", group: "kubeflow.org/v1", resource: "pytorchjobs", suspend: []string{"runPolicy", "suspend"},
			templates: [][]string{under(torch, "Master", "template"), under(torch, "Worker", "template")},
			replicas:  [][]string{under(torch, "Master", "replicas"), under(torch, "Worker", "replicas")}, limits: []string{"elasticPolicy"}},
		{name: "Job", group: "batch/v1", resource: "jobs", suspend: []string{"suspend"}, templates: [][]string{{"template"}}, replicas: [][]string{{"parallelism"}}, fixed: fixedJob},
	}
}

// fixedJob: Kubernetes forbids changes of the pod template of a Job that has started.
func fixedJob(w workload, inPlace bool) string {
	if !inPlace && w.Status.StartTime != nil {
		return "Kubernetes does not change where a Job runs once it has started; a PyTorchJob can be moved"
	}
	return ""
}

// fixedTrainJob: the pod overrides of a TrainJob have a node selector but no
// affinity, so they cannot name several nodes. The JobSet of a running TrainJob
// refuses another number of pods (jobset v0.10, ValidateUpdate).
func fixedTrainJob(_ workload, inPlace bool) string {
	if inPlace {
		return ""
	}
	return "a TrainJob cannot name several nodes, and its JobSet keeps the number of its pods while it runs; a PyTorchJob can be moved"
}

// fixedRayJob: suspending a RayJob deletes its RayCluster, and resuming it makes
// a new one, so its size and nodes can be changed, unless the RayCluster is
// shared or Ray scales it.
func fixedRayJob(w workload, _ bool) string {
	groups, _ := at(w.Spec, []string{"rayClusterSpec", "workerGroupSpecs"}).([]any)
	hosts, _ := at(w.Spec, []string{"rayClusterSpec", "workerGroupSpecs", "0", "numOfHosts"}).(float64)
	scales, _ := at(w.Spec, []string{"rayClusterSpec", "enableInTreeAutoscaling"}).(bool)
	switch {
	case w.Spec["clusterSelector"] != nil:
		return "it runs on a RayCluster that others use"
	case scales:
		return "Ray scales it"
	case len(groups) != 1 || hosts > 1:
		return "knee resizes a RayJob with one group of workers, each of one pod"
	}
	return ""
}

// completions is the path of how many pods of a batch Job have to succeed.
var completions = []string{"completions"}

// resizable reports whether the job can have another number of pods. A Job with
// completions can only if it is Indexed and completions equal parallelism; both
// are then changed together (elastic Indexed Jobs, Kubernetes 1.27).
func (w workload) resizable() bool {
	n := at(w.Spec, completions)
	return w.kind.name != "Job" || n == nil || w.Spec["completionMode"] == "Indexed" && n == at(w.Spec, []string{"parallelism"})
}

// resize puts the number of pods of each role into a patch.
func (w workload) resize(spec map[string]any, roles []role, counts []int) {
	for i, r := range roles {
		if r.replicas != nil {
			put(spec, r.replicas, counts[i])
		}
	}
	if w.kind.name == "Job" && at(w.Spec, completions) != nil {
		put(spec, completions, counts[0])
	}
}

// collection is the API path of the jobs of a kind in a namespace, in all if it is empty.
func (k kind) collection(namespace string) string {
	return kube.Path(k.group, namespace, k.resource)
}

func (w workload) path() string {
	return w.kind.collection(w.Namespace) + "/" + w.Name
}

func (w workload) suspended() bool {
	v, _ := at(w.Spec, w.kind.suspend).(bool)
	return v
}

// ended reports whether the job will not run again. A Ray deployment is Complete
// when its job has ended, well or not.
func (w workload) ended() bool {
	how, _ := w.verdict()
	return how != "" || w.Status.RayDeployed == "Complete" || w.DeletionTimestamp != nil
}

// verdict is how the job ended, and whether well; empty if the status does not say.
func (w workload) verdict() (how string, well bool) {
	for _, t := range []string{"Complete", "Succeeded", "Failed"} {
		if c := meta.FindStatusCondition(w.Status.Conditions, t); c != nil && c.Status == "True" {
			return t + ": " + c.Message, t != "Failed"
		}
	}
	switch {
	case slices.Contains([]string{"SUCCEEDED", "STOPPED", "FAILED"}, w.Status.RayJob):
		return w.Status.RayJob + ": " + w.Status.Message, w.Status.RayJob == "SUCCEEDED"
	case w.Status.RayDeployed == "Failed":
		return "Failed: " + w.Status.Message, false
	}
	return "", false
}

// role is one pod template of a job and how many pods it makes.
type role struct {
	template, replicas []string // paths
	pods, gpus         int      // pods, and GPUs of each
}

// roles returns the roles of the job, one for each pod template. The template of
// a TrainJob is in its runtime; its GPUs per pod are trainer.resourcesPerNode.
func (w workload) roles() ([]role, error) {
	var out []role
	for i, path := range w.kind.templates {
		template, ok := at(w.Spec, path).(map[string]any)
		if !ok {
			continue
		}
		n, err := templateGPUs(template["spec"])
		if err != nil {
			return nil, err
		}
		out = append(out, w.role(i, path, n))
	}
	if resources := at(w.Spec, []string{"trainer", "resourcesPerNode"}); len(w.kind.templates) == 0 && resources != nil {
		n, err := templateGPUs(map[string]any{"containers": []any{map[string]any{"name": "node", "resources": resources}}})
		if err != nil {
			return nil, err
		}
		out = append(out, w.role(0, nil, n))
	}
	return out, nil
}

func (w workload) role(i int, template []string, gpus int) role {
	r := role{template: template, replicas: w.kind.replicas[i], pods: 1, gpus: gpus}
	if n, ok := at(w.Spec, r.replicas).(float64); ok {
		r.pods = int(n)
	}
	return r
}

// templateGPUs adds up the GPUs of a pod spec in a template.
func templateGPUs(template any) (int, error) {
	fields, _ := template.(map[string]any)
	var spec corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil {
		return 0, fmt.Errorf("read its pod template: %w", err)
	}
	return gpus(spec)
}

func gpus(spec corev1.PodSpec) (int, error) {
	n := 0
	for _, c := range spec.Containers {
		for name, q := range c.Resources.Limits {
			if !strings.HasSuffix(string(name), "/gpu") {
				continue
			}
			k, whole := q.AsInt64()
			if !whole || k < 0 {
				return 0, fmt.Errorf("container %s asks for %q of %s, want a whole number", c.Name, q.String(), name)
			}
			n += int(k)
		}
	}
	return n, nil
}

// at is the value at a path, nil if there is none or the path is empty.
func at(m map[string]any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	var v any = m
	for _, key := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// put sets the value at a path and makes missing objects on it. Lists on it must exist.
func put(m map[string]any, path []string, v any) {
	for i, key := range path[:len(path)-1] {
		if list, ok := at(m, []string{key}).([]any); ok {
			n, _ := strconv.Atoi(path[i+1])
			put(list[n].(map[string]any), path[i+2:], v)
			return
		}
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	m[path[len(path)-1]] = v
}
