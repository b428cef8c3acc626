package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"knee/data"
)

// Kueue writes the JobSets of [JobSet], suspended and with the name of a
// queue, and knee.queues.yaml (kueue.x-k8s.io/v1beta1): for every GPU type a
// resource flavor, a cluster queue whose quota is what the plan hands out of
// that type, and a local queue in each namespace. Kueue then admits exactly
// the jobs of the plan.
type Kueue struct{}

// queuesFile has a dot in its name, which no job has.
const queuesFile = "knee.queues.yaml"

const kueueAPI = "kueue.x-k8s.io/v1beta1"

type clusterQueueSpec struct {
	Namespaces struct{}        `yaml:"namespaceSelector"` // all
	Groups     []resourceGroup `yaml:"resourceGroups"`
}

type resourceGroup struct {
	Covered []string `yaml:"coveredResources"`
	Flavors []flavor `yaml:"flavors"`
}

type flavor struct {
	Name      string  `yaml:"name"`
	Resources []quota `yaml:"resources"`
}

type quota struct {
	Name    string `yaml:"name"`
	Nominal string `yaml:"nominalQuota"`
}

// Export implements [Exporter].
func (Kueue) Export(p data.Plan) ([]File, error) {
	files, err := manifests("kueue", jobSetKind, p, func(t task) ([]manifest, string) {
		s, reason := jobSet(t)
		s.Suspend = true
		m := manifestOf(t, jobSetKind, s)
		m.Metadata.Labels["kueue.x-k8s.io/queue-name"] = queueName(t.GPUType)
		return []manifest{m}, reason
	})
	if err != nil {
		return nil, err
	}
	ts, err := tasks("kueue", p)
	if err != nil {
		return nil, err
	}
	queues, err := kueueQueues(ts)
	if err != nil {
		return nil, fmt.Errorf("export to kueue: %w", err)
	}
	if len(queues) > 0 {
		f, err := yamlFile(queuesFile, nil, queues...)
		if err != nil {
			return nil, fmt.Errorf("export to kueue: %w", err)
		}
		files = append([]File{f}, files...)
		for i := range files {
			if files[i].Name == "apply.sh" { // queues first: a job without one waits
				files[i].Data = []byte(firstApply(string(files[i].Data), queuesFile))
			}
		}
	}
	return files, nil
}

func queueName(gpuType string) string {
	if gpuType == "" {
		return "knee"
	}
	return "knee-" + label(gpuType)
}

// kueueQueues is a flavor and its queues for every GPU type in use.
func kueueQueues(ts []task) ([]manifest, error) {
	type need struct {
		gpus       int
		cpus       float64
		memory     int64
		namespaces map[string]bool
	}
	needs := map[string]*need{}
	for _, t := range ts {
		if t.paused() {
			continue
		}
		name := queueName(t.GPUType)
		n := needs[name]
		if n == nil {
			n = &need{namespaces: map[string]bool{}}
			needs[name] = n
		}
		if t.gpu() {
			n.gpus += t.Workers
		}
		n.cpus += float64(t.Workers)*t.Needs.WorkerCPUs + float64(t.PS)*t.Needs.PSCPUs
		n.memory += int64(t.Workers)*t.Needs.WorkerMemory + int64(t.PS)*t.Needs.PSMemory
		n.namespaces[t.Template.Namespace] = true
	}
	var out []manifest
	add := func(kind, name, namespace string, spec any) {
		out = append(out, manifest{APIVersion: kueueAPI, Kind: kind, Spec: spec,
			Metadata: metadata{Name: name, Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "knee"}}})
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		n := needs[name]
		f := flavor{Name: name}
		g := resourceGroup{}
		for _, q := range []quota{{"nvidia.com/gpu", strconv.Itoa(n.gpus)}, {"cpu", fmt.Sprintf("%dm", int64(n.cpus*1000+0.999))}, {"memory", strconv.FormatInt(n.memory, 10)}} {
			g.Covered, f.Resources = append(g.Covered, q.Name), append(f.Resources, q)
		}
		g.Flavors = []flavor{f}
		add("ResourceFlavor", name, "", struct{}{})
		add("ClusterQueue", name, "", clusterQueueSpec{Groups: []resourceGroup{g}})
		for _, ns := range slices.Sorted(maps.Keys(n.namespaces)) {
			add("LocalQueue", name, ns, map[string]string{"clusterQueue": name})
		}
	}
	return out, nil
}
