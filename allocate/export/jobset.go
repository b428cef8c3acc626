package export

import "fmt"

// jobSets expresses every placement exactly: one replicated job per node and role,
// pinned to its node, with a pod per process.
var jobSets = kubernetes{api: "jobset.x-k8s.io/v1alpha2", kind: "JobSet", command: true, servers: true, spec: jobSet}

func jobSet(t task) object {
	var jobs []any
	var workers []string
	for _, g := range t.perNodeGroups() {
		// A pod of a JobSet is named <set>-<job>-<job index>-<pod index> under the
		// service of the set. Pods do not restart: the failure policy restarts the
		// whole set.
		spec := object{{"parallelism", g.count}, {"completions", g.count}, {"completionMode", "Indexed"}, {"backoffLimit", 0},
			{"template", object{{"spec", g.pod(t, "JOB_COMPLETION_INDEX", fmt.Sprintf("%s-w0-0-0.%s", t.ID, t.ID))}}}}
		jobs = append(jobs, object{{"name", g.name}, {"replicas", 1}, {"template", object{{"spec", spec}}}})
		if !g.server {
			workers = append(workers, g.name)
		}
	}
	o := object{}
	if t.PS > 0 { // servers run until the workers are done
		o = append(o, field{"successPolicy", object{{"operator", "All"}, {"targetReplicatedJobs", workers}}})
	}
	return append(o, field{"failurePolicy", object{{"maxRestarts", 3}}}, field{"replicatedJobs", jobs})
}
