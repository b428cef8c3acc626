package export

import (
	"fmt"
	"slices"

	"knee/data"
)

// MPIJob writes Kubeflow MPIJob manifests (kubeflow.org/v1, of the training
// operator): one worker pod per node with as many slots as the plan has
// workers there, and a launcher that calls mpirun, unless the command does
// so itself. All pods have the same slots, so that a plan with different
// counts on its nodes is refused.
type MPIJob struct{}

type mpiSpec struct {
	Slots    int       `yaml:"slotsPerWorker"`
	Policy   runPolicy `yaml:"runPolicy"`
	Replicas struct {
		Launcher replica `yaml:"Launcher"`
		Worker   replica `yaml:"Worker"`
	} `yaml:"mpiReplicaSpecs"`
}

// Export implements [Exporter].
func (MPIJob) Export(p data.Plan) ([]File, error) {
	k := resourceKind{"kubeflow.org/v1", "MPIJob", "mpijobs.kubeflow.org"}
	return kubernetes("mpijob", k, p, func(t task) (any, string) {
		if t.servers() {
			return nil, "it uses parameter servers, which an MPIJob has no replica for; export it to tfjob, jobset or slurm"
		}
		if len(t.Template.Command) == 0 {
			return nil, "template.command is empty, and the launcher must be told what to run"
		}
		slots := t.perNode()
		if slots == 0 {
			return nil, fmt.Sprintf("it stands as %s, and an MPIJob has the same slots on every node; export it to jobset, volcano or slurm", t.shape())
		}
		s := mpiSpec{Slots: slots, Policy: runPolicy{CleanPodPolicy: "Running"}}
		launcher := containerOf(t, "mpi", 1, false)
		launcher.Command, launcher.Resources = mpirun(t), resources{}
		s.Replicas.Launcher = replica{Replicas: 1, RestartPolicy: "OnFailure"}
		s.Replicas.Launcher.Template.Spec.Containers = []container{launcher}
		worker := containerOf(t, "mpi", slots, false)
		worker.Command = nil // the operator's own: wait for the launcher
		s.Replicas.Worker = replica{Replicas: t.Workers / slots, RestartPolicy: "OnFailure"}
		s.Replicas.Worker.Template.Metadata = &metadata{Labels: map[string]string{jobLabel: t.ID}}
		s.Replicas.Worker.Template.Spec.Containers = []container{worker}
		s.Replicas.Worker.Template.Spec.Affinity = apart(t, t.hosts(false))
		return s, ""
	})
}

// mpirun is the launcher's command. mpirun starts the ranks over ssh, which
// passes no environment on, so every variable is named.
func mpirun(t task) []string {
	if slices.Contains([]string{"mpirun", "mpiexec", "horovodrun"}, programName(t.Template.Command[0])) {
		return literals(t.Template.Command)
	}
	out := []string{"mpirun", "-np", fmt.Sprint(t.Workers), "--allow-run-as-root", "--bind-to", "none"}
	for _, kv := range t.environment() {
		out = append(out, "-x", kv[0])
	}
	return append(out, literals(t.Template.Command)...)
}
