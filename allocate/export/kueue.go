package export

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kueue writes JobSets, suspended and with the name of a queue, and
// knee.queues.yaml (kueue.x-k8s.io/v1beta1): for every GPU type a resource flavor,
// a cluster queue whose quota is the plan's use of that type, and a local queue in
// each namespace. Kueue then admits exactly the jobs of the plan.
func kueue(ts []task) ([]File, error) {
	queued := jobSets
	queued.spec = func(t task) object { return append(object{{"suspend", true}}, jobSet(t)...) }
	queued.labels = func(t task) map[string]string { return map[string]string{"kueue.x-k8s.io/queue-name": queueName(t)} }
	files, err := queued.write(ts)
	queues := kueueQueues(ts)
	if err != nil || len(queues) == 0 {
		return files, err
	}
	f, err := yamlFile(queuesFile, nil, queues...)
	last := &files[len(files)-1] // apply.sh: queues come first
	last.Data = []byte(strings.Replace(string(last.Data), "\n\n", "\n\nkubectl apply -f "+queuesFile+"\n", 1))
	return append([]File{f}, files...), err
}

// queuesFile has a dot in its name, which no job has.
const queuesFile = "knee.queues.yaml"

func queueName(t task) string {
	if t.GPUType == "" {
		return "knee"
	}
	return "knee-" + label(t.GPUType)
}

// kueueQueues is a flavor, its cluster queue and local queues for every GPU type in use.
func kueueQueues(ts []task) []any {
	running := slices.DeleteFunc(slices.Clone(ts), task.paused)
	slices.SortStableFunc(running, func(a, b task) int { return cmp.Compare(queueName(a), queueName(b)) })
	var out []any
	add := func(kind, name, namespace string, spec any) {
		out = append(out, object{{"apiVersion", "kueue.x-k8s.io/v1beta1"}, {"kind", kind},
			{"metadata", object{{"name", name}, {"namespace", text(namespace)}, {"labels", map[string]string{"app.kubernetes.io/managed-by": "knee"}}}},
			{"spec", spec}})
	}
	empty := struct{}{}
	for len(running) > 0 {
		name, gpus, cpus, memory, namespaces := queueName(running[0]), 0, 0.0, int64(0), map[string]bool{}
		for ; len(running) > 0 && queueName(running[0]) == name; running = running[1:] {
			t := running[0]
			if t.gpu() {
				gpus += t.Workers
			}
			cpus += float64(t.Workers)*t.Needs.WorkerCPUs + float64(t.PS)*t.Needs.PSCPUs
			memory += int64(t.Workers)*t.Needs.WorkerMemory + int64(t.PS)*t.Needs.PSMemory
			namespaces[t.Template.Namespace] = true
		}
		var covered []string
		var quotas []any
		for _, q := range []field{{gpuResource, strconv.Itoa(gpus)}, {"cpu", fmt.Sprintf("%dm", int64(cpus*1000+0.999))}, {"memory", strconv.FormatInt(memory, 10)}} {
			covered, quotas = append(covered, q.key), append(quotas, object{{"name", q.key}, {"nominalQuota", q.value}})
		}
		add("ResourceFlavor", name, "", empty)
		add("ClusterQueue", name, "", object{{"namespaceSelector", empty}, {"resourceGroups", []any{ // all namespaces
			object{{"coveredResources", covered}, {"flavors", []any{object{{"name", name}, {"resources", quotas}}}}}}}})
		for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
			add("LocalQueue", name, ns, map[string]string{"clusterQueue": name})
		}
	}
	return out
}
