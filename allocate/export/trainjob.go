package export

import (
	"fmt"
	"strconv"

	"knee/data"
)

// TrainJob writes Kubeflow Trainer manifests (trainer.kubeflow.org/v1alpha1):
// a TrainJob that says how many nodes and processes, and a TrainingRuntime of
// its own that keeps its pods to the nodes of the plan, which a TrainJob
// cannot say itself. The runtime starts torchrun, one process per GPU, with
// the rendezvous in its environment. Every node has the same number of
// processes, so that a plan with different counts is refused.
type TrainJob struct{}

type runtimeSpec struct {
	Policy struct {
		Nodes int `yaml:"numNodes"`
		Torch struct {
			Processes int `yaml:"numProcPerNode"`
		} `yaml:"torch"`
	} `yaml:"mlPolicy"`
	Template struct {
		Spec struct {
			Jobs []runtimeJob `yaml:"replicatedJobs"`
		} `yaml:"spec"`
	} `yaml:"template"`
}

type runtimeJob struct {
	Name     string `yaml:"name"`
	Template struct {
		Metadata metadata `yaml:"metadata"`
		Spec     struct {
			Template podTemplate `yaml:"template"`
		} `yaml:"spec"`
	} `yaml:"template"`
}

type trainSpec struct {
	Runtime struct {
		APIGroup string `yaml:"apiGroup"`
		Kind     string `yaml:"kind"`
		Name     string `yaml:"name"`
	} `yaml:"runtimeRef"`
	Trainer struct {
		Image     string     `yaml:"image"`
		Command   []string   `yaml:"command"`
		Env       []variable `yaml:"env"`
		Nodes     int        `yaml:"numNodes"`
		Processes int        `yaml:"numProcPerNode"`
		Resources resources  `yaml:"resourcesPerNode,omitempty"`
	} `yaml:"trainer"`
}

const trainerAPI = "trainer.kubeflow.org/v1alpha1"

// Export implements [Exporter].
func (TrainJob) Export(p data.Plan) ([]File, error) {
	k := resourceKind{trainerAPI, "TrainJob", "trainjobs.trainer.kubeflow.org"}
	return manifests("trainjob", k, p, func(t task) ([]manifest, string) {
		n := t.perNode()
		switch {
		case t.servers():
			return nil, "it uses parameter servers, which a TrainJob does not start; export it to tfjob, jobset or slurm"
		case len(t.Template.Command) == 0:
			return nil, "template.command is empty, and torchrun must be told what to run"
		case n == 0:
			return nil, fmt.Sprintf("it stands as %s, and a TrainJob has the same number of processes on every node; export it to jobset, volcano or slurm", t.shape())
		}
		runtime := manifestOf(t, resourceKind{api: trainerAPI, kind: "TrainingRuntime"}, trainingRuntime(t, n))
		return []manifest{runtime, manifestOf(t, k, trainer(t, n))}, ""
	})
}

// trainingRuntime is the runtime of one job with n processes per node. The
// trainer's job and container are called node, and a label marks the job as
// the one that trains.
func trainingRuntime(t task, n int) runtimeSpec {
	var s runtimeSpec
	s.Policy.Nodes, s.Policy.Torch.Processes = t.Workers/n, n
	j := runtimeJob{Name: "node"}
	j.Template.Metadata.Labels = map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
	j.Template.Spec.Template.Metadata = &metadata{Labels: map[string]string{jobLabel: t.ID}}
	j.Template.Spec.Template.Spec = podSpec{Affinity: apart(t, t.hosts(false)), Containers: []container{{Name: "node", Image: t.Template.Image}}}
	s.Template.Spec.Jobs = []runtimeJob{j}
	return s
}

func trainer(t task, n int) trainSpec {
	var s trainSpec
	s.Runtime.APIGroup, s.Runtime.Kind, s.Runtime.Name = "trainer.kubeflow.org", "TrainingRuntime", t.ID
	c := containerOf(t, "node", n, false)
	s.Trainer.Image, s.Trainer.Env, s.Trainer.Resources = c.Image, c.Env, c.Resources
	s.Trainer.Command = append([]string{"torchrun"}, literals(torchrunTarget(t.Template.Command))...)
	s.Trainer.Nodes, s.Trainer.Processes = t.Workers/n, n
	// The node of an allocation with one process per GPU needs no more.
	s.Trainer.Env = append(s.Trainer.Env, variable{"OMP_NUM_THREADS", strconv.Itoa(max(1, int(t.Needs.WorkerCPUs)))})
	return s
}
