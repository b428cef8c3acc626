package kubequeue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"knee/internal/kube"
)

// workload is a job of any kind. Its spec stays as it is written, so that a
// patch changes nothing else.
type workload struct {
	kube.Object
	Spec   map[string]any `json:"spec"`
	Status struct {
		Conditions []kube.Condition `json:"conditions"`
		StartTime  *string          `json:"startTime"`
	} `json:"status"`
	kind kind
}

// kind is where a kind of job has what knee changes.
type kind struct {
	name, group, resource string
	suspend               []string   // path of the flag
	templates             [][]string // paths of its pod templates; those that are there count
	replicas              [][]string // paths of the number of pods of each template; a template without has one pod
	movable               bool       // its node affinity can be changed after it has started
}

// kinds are the kinds of jobs that are read. Pods of others are fixed.
func kinds() []kind {
	return []kind{
		{"Job", "batch/v1", "jobs", []string{"suspend"}, [][]string{{"template"}}, [][]string{{"parallelism"}}, false},
		{"PyTorchJob", "kubeflow.org/v1", "pytorchjobs", []string{"runPolicy", "suspend"},
			[][]string{{"pytorchReplicaSpecs", "Master", "template"}, {"pytorchReplicaSpecs", "Worker", "template"}},
			[][]string{{"pytorchReplicaSpecs", "Master", "replicas"}, {"pytorchReplicaSpecs", "Worker", "replicas"}}, true},
	}
}

// collection is the path of the jobs of a kind, of all namespaces if that is
// empty.
func (k kind) collection(namespace string) string {
	if namespace == "" {
		return "/apis/" + k.group + "/" + k.resource
	}
	return "/apis/" + k.group + "/namespaces/" + namespace + "/" + k.resource
}

func (w workload) path() string {
	return w.kind.collection(w.Metadata.Namespace) + "/" + w.Metadata.Name
}

// suspended reports whether the job has no pods by its own wish.
func (w workload) suspended() bool {
	v, _ := at(w.Spec, w.kind.suspend).(bool)
	return v
}

// ended reports whether the job will not run again.
func (w workload) ended() bool {
	for _, t := range []string{"Complete", "Succeeded", "Failed"} {
		if c := kube.FindCondition(w.Status.Conditions, t); c != nil && c.Status == "True" {
			return true
		}
	}
	return w.Metadata.DeletionTimestamp != nil
}

// role is one pod template of a job and how many pods it makes.
type role struct {
	template, replicas []string // paths
	pods, gpus         int      // pods, and GPUs of each
}

// roles are the templates of the job.
func (w workload) roles() ([]role, error) {
	var out []role
	for i, path := range w.kind.templates {
		template, ok := at(w.Spec, path).(map[string]any)
		if !ok {
			continue
		}
		r := role{template: path, replicas: w.kind.replicas[i], pods: 1}
		if n, ok := at(w.Spec, r.replicas).(float64); ok {
			r.pods = int(n)
		}
		var err error
		if r.gpus, err = templateGPUs(template); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// templateGPUs adds up the GPUs of a pod template.
func templateGPUs(template map[string]any) (int, error) {
	text, err := json.Marshal(template["spec"])
	if err != nil {
		return 0, err
	}
	var spec kube.PodSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return 0, fmt.Errorf("its pod template: %w", err)
	}
	return gpus(spec)
}

// gpus adds up the GPUs of a pod.
func gpus(spec kube.PodSpec) (int, error) {
	n := 0
	for _, c := range spec.Containers {
		for name, q := range c.Resources.Limits {
			if !strings.HasSuffix(name, "/gpu") {
				continue
			}
			k, err := strconv.Atoi(q)
			if err != nil || k < 0 {
				return 0, fmt.Errorf("container %s asks for %q of %s, want a whole number", c.Name, q, name)
			}
			n += k
		}
	}
	return n, nil
}

// at is the value at a path, nil if there is none.
func at(m map[string]any, path []string) any {
	var v any = m
	for _, key := range path {
		next, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = next[key]
	}
	return v
}

// put sets the value at a path, making the objects on the way.
func put(m map[string]any, path []string, v any) {
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	m[path[len(path)-1]] = v
}
