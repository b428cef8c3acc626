package export

import "fmt"

// JobSet writes JobSet manifests (jobset.x-k8s.io/v1alpha2): one replicated
// job per node and role, pinned to its node, with a pod per process. It
// holds every placement exactly, uneven ones and parameter servers included.
func JobSet() Exporter { return exporter("jobset", jobSets(nil).write) }

// jobSets writes the JobSets of jobs; those with a queue are suspended until
// that admits them.
func jobSets(queue func(task) map[string]string) kubernetes {
	return kubernetes{
		kind:    kind{"jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets.jobset.x-k8s.io"},
		command: true, servers: true, labels: queue,
		spec: func(t task) object {
			o := object{}
			if queue != nil {
				o = append(o, field{"suspend", true})
			}
			return append(o, jobSet(t)...)
		},
	}
}

func jobSet(t task) object {
	var jobs []any
	var workers []string
	for _, g := range t.perNodeGroups() {
		// A pod of a JobSet is called <set>-<job>-<job index>-<pod index> and
		// found under the name of the set. It does not restart by itself: the
		// failure policy restarts the set as a whole.
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
