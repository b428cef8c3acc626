package export

import (
	"fmt"

	"knee/data"
)

// Volcano writes Volcano Jobs (batch.volcano.sh/v1alpha1): a task per node
// and role, pinned to its node, with a pod per process, scheduled all
// together or not at all. It holds every placement exactly.
type Volcano struct{}

type volcanoSpec struct {
	Scheduler    string              `yaml:"schedulerName"`
	MinAvailable int                 `yaml:"minAvailable"`
	MaxRetry     int                 `yaml:"maxRetry"`
	Plugins      map[string][]string `yaml:"plugins"`
	Policies     []volcanoPolicy     `yaml:"policies"`
	Tasks        []volcanoTask       `yaml:"tasks"`
}

type volcanoPolicy struct {
	Event  string `yaml:"event"`
	Action string `yaml:"action"`
}

type volcanoTask struct {
	Name     string          `yaml:"name"`
	Replicas int             `yaml:"replicas"`
	Policies []volcanoPolicy `yaml:"policies,omitempty"`
	Template podTemplate     `yaml:"template"`
}

// Export implements [Exporter].
func (Volcano) Export(p data.Plan) ([]File, error) {
	k := resourceKind{"batch.volcano.sh/v1alpha1", "Job", "jobs.batch.volcano.sh"}
	return kubernetes("volcano", k, p, func(t task) (any, string) {
		if len(t.Template.Command) == 0 {
			return nil, "template.command is empty, and the pods must be told what to run"
		}
		s := volcanoSpec{Scheduler: "volcano", MinAvailable: t.Workers + t.PS, MaxRetry: 3,
			Plugins:  map[string][]string{"svc": {}, "env": {}}, // names and indices of the pods
			Policies: []volcanoPolicy{{"PodEvicted", "RestartJob"}, {"PodFailed", "RestartJob"}}}
		for _, g := range t.perNodeGroups() {
			v := volcanoTask{Name: g.name, Replicas: g.count}
			if g.first == 0 { // rank 0 is done when the training is
				v.Policies = []volcanoPolicy{{"TaskCompleted", "CompleteJob"}}
			}
			v.Template.Spec = podSpec{RestartPolicy: "Never", NodeSelector: map[string]string{hostname: g.node},
				Containers: []container{g.container(t, "VC_TASK_INDEX", fmt.Sprintf("%s-w0-0.%s", t.ID, t.ID))}}
			s.Tasks = append(s.Tasks, v)
		}
		return s, ""
	})
}
