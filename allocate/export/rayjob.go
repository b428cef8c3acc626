package export

import (
	"fmt"

	"knee/data"
)

// RayJob writes KubeRay RayJobs (ray.io/v1): a head without GPUs, a worker
// group per node, pinned to it, and the command as entrypoint, which runs on
// the head and asks Ray for KNEE_WORKERS workers. Parameter servers have no
// place in it. These manifests are compared with golden files only; no
// KubeRay operator has judged them.
type RayJob struct{}

type raySpec struct {
	Entrypoint string `yaml:"entrypoint"`
	Shutdown   bool   `yaml:"shutdownAfterJobFinishes"`
	Cluster    struct {
		Head   rayGroup   `yaml:"headGroupSpec"`
		Worker []rayGroup `yaml:"workerGroupSpecs"`
	} `yaml:"rayClusterSpec"`
}

type rayGroup struct {
	Name     string            `yaml:"groupName,omitempty"`
	Replicas *int              `yaml:"replicas,omitempty"`
	Min      *int              `yaml:"minReplicas,omitempty"`
	Max      *int              `yaml:"maxReplicas,omitempty"`
	Params   map[string]string `yaml:"rayStartParams"`
	Template podTemplate       `yaml:"template"`
}

// Export implements [Exporter].
func (RayJob) Export(p data.Plan) ([]File, error) {
	k := resourceKind{"ray.io/v1", "RayJob", "rayjobs.ray.io"}
	return kubernetes("rayjob", k, p, func(t task) (any, string) {
		if t.servers() {
			return nil, "it uses parameter servers, which a RayJob does not start; export it to tfjob, jobset or slurm"
		}
		if len(t.Template.Command) == 0 {
			return nil, "template.command is empty, and a RayJob needs an entrypoint"
		}
		s := raySpec{Entrypoint: shellWords(t.Template.Command), Shutdown: true}
		head := containerOf(t, "ray-head", 1, false)
		head.Command, head.Resources = nil, resources{}
		s.Cluster.Head = rayGroup{Params: map[string]string{"num-gpus": "0"}}
		s.Cluster.Head.Template.Spec.Containers = []container{head}
		for _, g := range t.perNodeGroups() {
			c := containerOf(t, "ray-worker", g.count, false)
			c.Command = nil // Ray's own
			one := 1
			w := rayGroup{Name: g.name, Replicas: &one, Min: &one, Max: &one, Params: map[string]string{}}
			if !t.gpu() {
				w.Params["num-cpus"] = fmt.Sprint(g.count)
			}
			w.Template.Spec = podSpec{NodeSelector: map[string]string{hostname: g.node}, Containers: []container{c}}
			s.Cluster.Worker = append(s.Cluster.Worker, w)
		}
		return s, ""
	})
}
