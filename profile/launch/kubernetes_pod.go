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

// tree is an object of JSON.
type tree = map[string]any

// podTemplate fills in the user's template for the workers or servers of a trial.
// It replaces only the command and the variables of a pod's rank.
func (k *Kubernetes) podTemplate(name string, t Trial, s shape, role string, pods int, env tree) (tree, error) {
	theirs, err := clone(k.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("launcher.kubernetes.template: %w", err)
	}
	if first := firstContainer(theirs); first != nil {
		if _, ok := first.(tree); !ok {
			return nil, fmt.Errorf("launcher.kubernetes.template: spec.containers[0] is %v, want a container: a mapping", first)
		}
	}
	labels, selector := anyMap(k.labels(name, t)), anyMap(k.Spec.NodeSelector)
	labels[labelRole] = role
	command := make([]any, len(t.Command))
	for i, a := range t.Command {
		command[i] = literal(a)
	}
	maps.Copy(env, anyMap(t.Env))
	limits, tolerations := anyMap(k.Spec.Limits), []any{}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerations = append(tolerations, tree{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": lostAfterSeconds})
	}
	if gpu := k.Spec.GPUResource; gpu != "" && role == "worker" && !cpuOnly(t.Config.GPUType) {
		limits[gpu] = s.gpus // the requests of extended resources follow the limits
		delete(child(child(firstContainer(theirs), "resources"), "requests"), gpu)
		tolerations = append(tolerations, tree{"key": gpu, "operator": "Exists", "effect": "NoSchedule"})
	}
	if role == "worker" && len(s.values) == 1 {
		selector[k.Spec.GPULabel] = s.values[0]
	}
	template := tree{"metadata": tree{"labels": labels}, "spec": tree{"restartPolicy": "Never", "subdomain": name,
		"nodeSelector": selector, "affinity": spread(name, t.Config, pods, s.perNode),
		"containers": []any{tree{"image": k.Spec.Image, "command": command, "env": envList(env),
			"resources": tree{"requests": anyMap(k.Spec.Requests), "limits": limits}}}}}
	prune(template)
	fill(template, theirs)
	fill(template, tree{"spec": tree{"terminationGracePeriodSeconds": graceSeconds, "tolerations": tolerations, "containers": []any{tree{"name": "trial"}}}})
	if role == "worker" && len(s.values) > 1 {
		k.choose(child(template, "spec"), s.values)
	}
	return template, nil
}

// firstContainer is the container of a pod template that trains, nil if it has none.
func firstContainer(template tree) any {
	if list, _ := child(template, "spec")["containers"].([]any); len(list) > 0 {
		return list[0]
	}
	return nil
}

// prune removes texts and mappings that are empty.
func prune(m tree) {
	maps.DeleteFunc(m, func(_ string, v any) bool {
		sub, ok := v.(tree)
		if list, is := v.([]any); is && len(list) > 0 {
			sub, _ = list[0].(tree)
		}
		prune(sub)
		return v == "" || ok && len(sub) == 0
	})
}

// fill adds the missing fields of a mapping from under. The first containers of two
// lists are merged; items of other lists are appended unless their name or key is
// used. The command stays.
func fill(m, under tree) {
	for field, theirs := range under {
		switch ours := m[field].(type) {
		case nil:
			if field != "args" || m["command"] == nil {
				m[field] = theirs
			}
		case tree:
			if sub, ok := theirs.(tree); ok {
				fill(ours, sub)
			}
		case []any:
			items, _ := theirs.([]any)
			if field == "command" {
				continue
			}
			if field == "containers" && len(items) > 0 {
				fill(ours[0].(tree), items[0].(tree))
				items = items[1:]
			}
			m[field] = append(ours, slices.DeleteFunc(items, func(item any) bool { return used(ours, item) })...)
		}
	}
}

// used reports whether an item of a list has the name or key of another.
func used(list []any, item any) bool {
	of, _ := item.(tree)
	return slices.ContainsFunc(list, func(v any) bool {
		is, _ := v.(tree)
		return is["name"] != nil && is["name"] == of["name"] || is["key"] != nil && is["key"] == of["key"]
	})
}

func cpuOnly(gpuType string) bool { return gpuType == "" || gpuType == "cpu" }

// choose keeps pods to the nodes whose GPU label has one of several values.
func (k *Kubernetes) choose(spec tree, values []string) {
	required := child(child(child(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution")
	terms, _ := required["nodeSelectorTerms"].([]any)
	if len(terms) == 0 {
		terms = []any{tree{}}
	}
	// Terms are alternatives: each has to name the type.
	for _, term := range terms {
		if m, ok := term.(tree); ok {
			list, _ := m["matchExpressions"].([]any)
			m["matchExpressions"] = append(list, tree{"key": k.Spec.GPULabel, "operator": "In", "values": values})
		}
	}
	required["nodeSelectorTerms"] = terms
}

// spread is the affinity that puts the workers' pods on one node or on different
// nodes, as the configuration says, nil if it says nothing.
func spread(name string, c data.Config, pods int, perNode bool) tree {
	if pods < 2 || len(c.Placement) == 0 && c.Nodes == 0 {
		return nil
	}
	kind := "podAntiAffinity"
	if !perNode && c.NodeCount() == 1 {
		kind = "podAffinity"
	}
	return tree{kind: tree{"requiredDuringSchedulingIgnoredDuringExecution": []any{tree{"topologyKey": hostnameLabel,
		"labelSelector": tree{"matchLabels": tree{labelRun: name, labelRole: "worker"}}}}}}
}

// child returns the mapping under a key, which it creates if missing. Any other
// value is replaced: the server would refuse it.
func child(in any, key string) tree {
	m, _ := in.(tree)
	if sub, ok := m[key].(tree); ok {
		return sub
	}
	sub := tree{}
	if m != nil {
		m[key] = sub
	}
	return sub
}
