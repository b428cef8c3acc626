package export

import (
	"fmt"
	"slices"
)

// MPIJob writes Kubeflow MPIJob manifests (kubeflow.org/v1, of the training
// operator): one worker pod per node with as many slots as the plan has
// workers there, and a launcher that calls mpirun, unless the command does
// so itself. All pods have the same slots, so that a plan with different
// counts on its nodes is refused.
func MPIJob() Exporter {
	return exporter("mpijob", kubernetes{kind: kind{"kubeflow.org/v1", "MPIJob", "mpijobs.kubeflow.org"}, command: true, equal: true, spec: mpiJob}.write)
}

func mpiJob(t task) object {
	slots := t.perNode()
	launcher := object{{"name", "mpi"}, {"image", t.Template.Image}, {"command", mpirun(t)}, {"env", t.variables()}}
	worker := containerOf(t, "mpi", slots, false, nil) // the operator's own command: wait for the launcher
	return object{{"slotsPerWorker", slots}, {"runPolicy", cleanRunning}, {"mpiReplicaSpecs", object{
		{"Launcher", replica(1, object{{"spec", pod(nil, nil, nil, launcher)}})},
		{"Worker", replica(t.Workers/slots, labelled(t, pod(nil, nil, apart(t), worker)))},
	}}}
}

// mpirun is the launcher's command. mpirun starts the ranks over ssh, which
// passes no environment on, so every variable is named.
func mpirun(t task) []string {
	if slices.Contains([]string{"mpirun", "mpiexec", "horovodrun"}, programName(t.Template.Command[0])) {
		return t.command()
	}
	out := []string{"mpirun", "-np", fmt.Sprint(t.Workers), "--allow-run-as-root", "--bind-to", "none"}
	for _, kv := range t.environment() {
		out = append(out, "-x", kv[0])
	}
	return append(out, t.command()...)
}
