package export

import "fmt"

// volcanoJob is a task per node and role, pinned to its node, with a pod per process,
// all scheduled together. It expresses every placement exactly.
func volcanoJob(t task) object {
	policy := func(event, action string) object { return object{{"event", event}, {"action", action}} }
	var tasks []any
	for _, g := range t.perNodeGroups() {
		o := object{{"name", g.name}, {"replicas", g.count}}
		if g.first == 0 { // the job ends with rank 0
			o = append(o, field{"policies", []any{policy("TaskCompleted", "CompleteJob")}})
		}
		tasks = append(tasks, append(o, field{"template", object{{"spec", g.pod(t, "VC_TASK_INDEX", fmt.Sprintf("%s-w0-0.%s", t.ID, t.ID))}}}))
	}
	return object{{"schedulerName", "volcano"}, {"minAvailable", t.Workers + t.PS}, {"maxRetry", 3},
		{"plugins", map[string][]string{"svc": {}, "env": {}}}, // names and indices of the pods
		{"policies", []any{policy("PodEvicted", "RestartJob"), policy("PodFailed", "RestartJob")}},
		{"tasks", tasks}}
}
