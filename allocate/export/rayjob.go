package export

import "fmt"

// rayJob is a head without GPUs, a worker group per node, pinned to it, and the
// command as entrypoint: it runs on the head and asks Ray for KNEE_WORKERS workers.
// The manifests were compared with golden files and never run by a KubeRay operator.
func rayJob(t task) object {
	head := object{{"name", "ray-head"}, {"image", t.Template.Image}, {"env", t.variables()}}
	var groups []any
	for _, g := range t.perNodeGroups() {
		params := map[string]string{}
		if !t.gpu() {
			params["num-cpus"] = fmt.Sprint(g.count)
		}
		groups = append(groups, object{{"groupName", g.name}, {"replicas", 1}, {"minReplicas", 1}, {"maxReplicas", 1}, {"rayStartParams", params},
			{"template", object{{"spec", pod(nil, map[string]string{hostname: g.node}, nil, containerOf(t, "ray-worker", g.count, false, nil))}}}})
	}
	return object{{"entrypoint", shellWords(t.Template.Command)}, {"shutdownAfterJobFinishes", true},
		{"rayClusterSpec", object{
			{"headGroupSpec", object{{"rayStartParams", map[string]string{"num-gpus": "0"}}, {"template", object{{"spec", pod(nil, nil, nil, head)}}}}},
			{"workerGroupSpecs", groups},
		}}}
}
