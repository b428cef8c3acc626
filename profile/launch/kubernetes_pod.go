package launch

import (
	"fmt"
	"maps"
	"slices"

	"knee/data"
)

// graceSeconds is how long a pod may take to terminate, unless the user's
// template sets it: a trial has nothing to save.
const graceSeconds = 5

// lostAfterSeconds is how long a pod stays bound to a node that does not answer.
// In Kubernetes' five minutes the other workers would hold idle GPUs.
const lostAfterSeconds = 30

// podTemplate fills in the user's template for the workers or servers of a trial.
// It replaces only the command and the variables of a pod's rank.
func (k *Kubernetes) podTemplate(name string, t Trial, s shape, role string, pods int, env map[string]any) (map[string]any, error) {
	template, err := clone(k.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("launcher.kubernetes.template: %w", err)
	}
	meta := child(template, "metadata")
	labels := child(meta, "labels")
	maps.Copy(labels, anyMap(k.labels(name, t)))
	labels[labelRole] = role

	spec := child(template, "spec")
	gpus := 0
	if role == "worker" && !cpuOnly(t.Config.GPUType) {
		gpus = s.gpus
	}
	if err := k.container(spec, t, gpus, env); err != nil {
		return nil, err
	}
	spec["restartPolicy"] = "Never"
	spec["subdomain"] = name
	setDefault(spec, "terminationGracePeriodSeconds", graceSeconds)
	selector := child(spec, "nodeSelector")
	maps.Copy(selector, anyMap(k.Spec.NodeSelector))
	if role == "worker" {
		k.choose(spec, selector, s.values)
	}
	if len(selector) == 0 {
		delete(spec, "nodeSelector")
	}
	k.tolerate(spec, gpus > 0)
	spread(spec, name, t.Config, pods, s.perNode)
	return template, nil
}

// container sets the first container of a pod: the one that trains.
func (k *Kubernetes) container(spec map[string]any, t Trial, gpus int, env map[string]any) error {
	list, _ := spec["containers"].([]any)
	if len(list) == 0 {
		list = []any{map[string]any{}}
	}
	c, ok := list[0].(map[string]any)
	if !ok {
		return fmt.Errorf("launcher.kubernetes.template: spec.containers[0] is %v, want a container: a mapping", list[0])
	}
	spec["containers"] = list
	setDefault(c, "name", "trial")
	if k.Spec.Image != "" {
		c["image"] = k.Spec.Image
	}
	command := make([]any, len(t.Command))
	for i, a := range t.Command {
		command[i] = literal(a)
	}
	c["command"] = command
	delete(c, "args")

	theirs := map[string]any{}
	kept := []any{} // variables of the template that the trial does not set
	maps.Copy(theirs, env)
	maps.Copy(theirs, anyMap(t.Env))
	if list, ok := c["env"].([]any); ok {
		for _, v := range list {
			if m, ok := v.(map[string]any); ok {
				if name, _ := m["name"].(string); theirs[name] != nil {
					continue
				}
			}
			kept = append(kept, v)
		}
	}
	c["env"] = append(envList(theirs), kept...)

	resources := child(c, "resources")
	requests, limits := child(resources, "requests"), child(resources, "limits")
	maps.Copy(requests, anyMap(k.Spec.Requests))
	maps.Copy(limits, anyMap(k.Spec.Limits))
	if gpus > 0 && k.Spec.GPUResource != "" {
		limits[k.Spec.GPUResource] = gpus // requests of extended resources follow the limits
		delete(requests, k.Spec.GPUResource)
	}
	for _, key := range []string{"requests", "limits"} {
		if len(child(resources, key)) == 0 {
			delete(resources, key)
		}
	}
	if len(resources) == 0 {
		delete(c, "resources")
	}
	return nil
}

func cpuOnly(gpuType string) bool { return gpuType == "" || gpuType == "cpu" }

// choose keeps pods to the nodes whose GPU label has one of the values.
func (k *Kubernetes) choose(spec, selector map[string]any, values []string) {
	switch len(values) {
	case 0:
	case 1:
		selector[k.Spec.GPULabel] = values[0]
	default:
		required := child(child(child(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution")
		terms, _ := required["nodeSelectorTerms"].([]any)
		if len(terms) == 0 {
			terms = []any{map[string]any{}}
		}
		// Terms are alternatives: each has to name the type.
		for _, term := range terms {
			if m, ok := term.(map[string]any); ok {
				list, _ := m["matchExpressions"].([]any)
				m["matchExpressions"] = append(list, map[string]any{"key": k.Spec.GPULabel, "operator": "In", "values": values})
			}
		}
		required["nodeSelectorTerms"] = terms
	}
}

// tolerate lets pods onto nodes tainted for GPU use, and evicts them from nodes
// that do not answer after lostAfterSeconds.
func (k *Kubernetes) tolerate(spec map[string]any, gpu bool) {
	list, _ := spec["tolerations"].([]any)
	has := func(key string) bool {
		return slices.ContainsFunc(list, func(v any) bool {
			m, _ := v.(map[string]any)
			return m["key"] == key
		})
	}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		if !has(key) {
			list = append(list, map[string]any{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": lostAfterSeconds})
		}
	}
	if gpu && k.Spec.GPUResource != "" && !has(k.Spec.GPUResource) {
		list = append(list, map[string]any{"key": k.Spec.GPUResource, "operator": "Exists", "effect": "NoSchedule"})
	}
	spec["tolerations"] = list
}

// spread puts the workers' pods on one node or on different nodes, as the
// configuration says, if it says anything.
func spread(spec map[string]any, name string, c data.Config, pods int, perNode bool) {
	if pods < 2 || len(c.Placement) == 0 && c.Nodes == 0 {
		return
	}
	kind := "podAntiAffinity"
	if !perNode && c.NodeCount() == 1 {
		kind = "podAffinity"
	}
	rules := child(child(spec, "affinity"), kind)
	list, _ := rules["requiredDuringSchedulingIgnoredDuringExecution"].([]any)
	rules["requiredDuringSchedulingIgnoredDuringExecution"] = append(list, map[string]any{"topologyKey": hostnameLabel,
		"labelSelector": map[string]any{"matchLabels": map[string]any{labelRun: name, labelRole: "worker"}}})
}

// child returns the mapping under a key, which it creates if missing. Any other
// value is replaced: the server would refuse it.
func child(m map[string]any, key string) map[string]any {
	if sub, ok := m[key].(map[string]any); ok {
		return sub
	}
	sub := map[string]any{}
	m[key] = sub
	return sub
}

func setDefault(m map[string]any, key string, v any) {
	if m[key] == nil {
		m[key] = v
	}
}
