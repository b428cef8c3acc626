package export

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"knee/internal/grouped"
	"knee/internal/manifest"
)

// kueue writes JobSets, suspended and with the name of a queue, and knee.queues.yaml
// (kueue.x-k8s.io/v1beta1): for every GPU type a resource flavor, a cluster queue whose
// quota is the plan's use of that type, and a local queue in each namespace. Kueue then
// admits exactly the jobs of the plan.
func kueue(ts []task) ([]File, error) {
	for i := range ts {
		ts[i].Queue = "knee"
		if t := ts[i].GPUType; t != "" {
			ts[i].Queue += "-" + label(t)
		}
	}
	queues := queuesOf(ts)
	if len(queues) == 0 {
		return jobSets.write("jobset.yaml", ts, "")
	}
	const name = "knee.queues.yaml" // no job has a dot in its name
	f, err := yamlFile(name, "kueue.yaml", queues, nil)
	if err != nil {
		return nil, err
	}
	files, err := jobSets.write("jobset.yaml", ts, name)
	return append([]File{f}, files...), err
}

// quota is what the jobs of a queue use.
type quota struct {
	Name       string
	GPUs       map[string]int // of each resource
	Millicores int64
	Memory     int64 // bytes
	Namespaces []string
}

func queuesOf(ts []task) []quota {
	running := slices.DeleteFunc(slices.Clone(ts), task.Paused)
	names, jobs := grouped.By(running, func(t task) string { return t.Queue })
	var out []quota
	for _, name := range slices.Sorted(slices.Values(names)) {
		q, cpus, namespaces := quota{Name: name, GPUs: map[string]int{}}, 0.0, map[string]bool{}
		for _, t := range jobs[name] {
			n := 0
			if t.HasGPUs() {
				n = t.Workers
			}
			q.GPUs[t.GPUResource()] += n
			for server, n := range map[bool]int{false: t.Workers, true: t.PS} {
				c, m := t.requests(server)
				cpus, q.Memory = cpus+float64(n)*c, q.Memory+int64(n)*m
			}
			namespaces[t.Template.Namespace] = true
		}
		q.Millicores, q.Namespaces = int64(cpus*1000+0.999), slices.Sorted(maps.Keys(namespaces))
		out = append(out, q)
	}
	return out
}

// requests is the cores and bytes that a pod of a worker, or of a parameter server,
// requests with the containers of the job's pod template.
func (t task) requests(server bool) (cpus float64, memory int64) {
	cpus, memory = t.needs(server)
	var pod corev1.Pod
	if text, err := json.Marshal(t.Template.Pod); err != nil || json.Unmarshal(text, &pod) != nil {
		return cpus, memory // the API server refuses it, and says why
	}
	for _, c := range pod.Spec.Containers[:min(1, len(pod.Spec.Containers))] { // whose cores and memory the plan replaces
		for name, planned := range map[corev1.ResourceName]bool{corev1.ResourceCPU: cpus > 0, corev1.ResourceMemory: memory > 0} {
			if planned {
				delete(c.Resources.Requests, name)
				delete(c.Resources.Limits, name)
			}
		}
	}
	sum := manifest.Requests(&pod)
	return cpus + sum.Cpu().AsApproximateFloat64(), memory + sum.Memory().Value()
}
