package export

import (
	"maps"
	"slices"

	"knee/internal/grouped"
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
	GPU        string // resource
	GPUs       int
	Millicores int64
	Memory     int64 // bytes
	Namespaces []string
}

func queuesOf(ts []task) []quota {
	running := slices.DeleteFunc(slices.Clone(ts), task.Paused)
	names, jobs := grouped.By(running, func(t task) string { return t.Queue })
	var out []quota
	for _, name := range slices.Sorted(slices.Values(names)) {
		q, cpus, namespaces := quota{Name: name, GPU: jobs[name][0].GPUResource()}, 0.0, map[string]bool{}
		for _, t := range jobs[name] {
			if t.HasGPUs() {
				q.GPUs += t.Workers
			}
			cpus += float64(t.Workers)*t.Resources.WorkerCPUs + float64(t.PS)*t.Resources.PSCPUs
			q.Memory += int64(t.Workers)*t.Resources.WorkerMemory + int64(t.PS)*t.Resources.PSMemory
			namespaces[t.Template.Namespace] = true
		}
		q.Millicores, q.Namespaces = int64(cpus*1000+0.999), slices.Sorted(maps.Keys(namespaces))
		out = append(out, q)
	}
	return out
}
