package export

import (
	"fmt"
	"strconv"

	"knee/data"
)

// JobSet writes JobSet manifests (jobset.x-k8s.io/v1alpha2): one replicated
// job per node and role, pinned to its node, with a pod per process. It
// holds every placement exactly, uneven ones and parameter servers included.
type JobSet struct{}

var jobSetKind = resourceKind{"jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets.jobset.x-k8s.io"}

type jobSetSpec struct {
	Suspend bool            `yaml:"suspend,omitempty"`
	Success *successPolicy  `yaml:"successPolicy,omitempty"`
	Failure *failurePolicy  `yaml:"failurePolicy,omitempty"`
	Jobs    []replicatedJob `yaml:"replicatedJobs"`
}

type successPolicy struct {
	Operator string   `yaml:"operator"`
	Targets  []string `yaml:"targetReplicatedJobs,omitempty"`
}

type failurePolicy struct {
	MaxRestarts int `yaml:"maxRestarts"`
}

type replicatedJob struct {
	Name     string `yaml:"name"`
	Replicas int    `yaml:"replicas"`
	Template struct {
		Metadata *metadata `yaml:"metadata,omitempty"`
		Spec     batchSpec `yaml:"spec"`
	} `yaml:"template"`
}

// batchSpec is the part of batch/v1 JobSpec that is needed.
type batchSpec struct {
	Parallelism    int         `yaml:"parallelism,omitempty"`
	Completions    int         `yaml:"completions,omitempty"`
	CompletionMode string      `yaml:"completionMode,omitempty"`
	BackoffLimit   *int        `yaml:"backoffLimit,omitempty"`
	Template       podTemplate `yaml:"template"`
}

// Export implements [Exporter].
func (JobSet) Export(p data.Plan) ([]File, error) {
	return kubernetes("jobset", jobSetKind, p, func(t task) (any, string) { return jobSet(t) })
}

// jobSet is the spec of one job, or the reason why there is none.
func jobSet(t task) (jobSetSpec, string) {
	if len(t.Template.Command) == 0 {
		return jobSetSpec{}, "template.command is empty, and the pods must be told what to run"
	}
	s := jobSetSpec{Failure: &failurePolicy{MaxRestarts: 3}}
	var workers []string
	for _, g := range t.perNodeGroups() {
		// A pod of a JobSet is called <set>-<job>-<job index>-<pod index>
		// and found under the name of the set.
		c := g.container(t, "JOB_COMPLETION_INDEX", fmt.Sprintf("%s-w0-0-0.%s", t.ID, t.ID))
		no := 0 // the failure policy restarts the set as a whole
		j := replicatedJob{Name: g.name, Replicas: 1}
		j.Template.Spec = batchSpec{Parallelism: g.count, Completions: g.count, CompletionMode: "Indexed", BackoffLimit: &no}
		j.Template.Spec.Template.Spec = podSpec{RestartPolicy: "Never", NodeSelector: map[string]string{hostname: g.node}, Containers: []container{c}}
		s.Jobs = append(s.Jobs, j)
		if !g.server {
			workers = append(workers, g.name)
		}
	}
	if t.PS > 0 { // servers run until the workers are done
		s.Success = &successPolicy{Operator: "All", Targets: workers}
	}
	return s, ""
}

// nodeGroup is the workers, or the servers, of one node.
type nodeGroup struct {
	name   string // w0, w1, …, ps0, …
	node   string
	count  int
	first  int // rank of the first; servers come after all workers
	server bool
}

// perNodeGroups lists the workers node by node, then the servers.
func (t task) perNodeGroups() []nodeGroup {
	var out []nodeGroup
	rank := 0
	for _, server := range []bool{false, true} {
		name, n := "w", 0
		if server {
			name = "ps"
		}
		for _, s := range t.Placement {
			count := s.Workers
			if server {
				count = s.PS
			}
			if count == 0 {
				continue
			}
			out = append(out, nodeGroup{name + strconv.Itoa(n), s.Node, count, rank, server})
			rank, n = rank+count, n+1
		}
	}
	return out
}

// container is the container of the pods of a group. Its command is the
// job's own, behind a shell that adds up the rank: the pod knows its index
// within the group from a variable. Ranks are as in a Slurm export.
func (g nodeGroup) container(t task, index, master string) container {
	c := containerOf(t, "train", 1, g.server)
	role := "worker"
	if g.server {
		role = "ps"
	}
	c.Env = append(c.Env, variable{"KNEE_ROLE", role}, variable{"KNEE_FIRST_RANK", strconv.Itoa(g.first)},
		variable{"WORLD_SIZE", strconv.Itoa(t.Workers + t.PS)}, variable{"MASTER_ADDR", master}, variable{"MASTER_PORT", "29500"})
	start := "export RANK=$((KNEE_FIRST_RANK + " + index + ")) LOCAL_RANK=0"
	if g.server {
		start += "; export KNEE_PS_RANK=$((RANK - KNEE_WORKERS))"
	}
	// The kubelet leaves $(( alone only if the dollar sign is doubled.
	c.Command = append([]string{"sh", "-c", literal(start + `; exec "$@"`), "knee"}, c.Command...)
	return c
}
