package export

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds of Kubeflow's training operator, kubeflow.org/v1.

// cleanRunning removes the pods that still run when a job ends.
var cleanRunning = object{{"cleanPodPolicy", "Running"}}

// replica is a replica specification.
func replica(count int, template object) object {
	return object{{"replicas", count}, {"restartPolicy", "OnFailure"}, {"template", template}}
}

// podsOf is a replica specification of one process per pod on the given nodes; the
// pod of a worker has one GPU.
func podsOf(t task, name string, count int, nodes []string, server bool) object {
	return replica(count, object{{"spec", pod(nil, nil, onNodes(nodes), containerOf(t, name, 1, server, t.command()))}})
}

// pyTorchJob has a pod for each worker, with one process and one GPU: the operator
// sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for a plain "python train.py",
// and any placement can be written. Pods are restricted to the nodes of the placement;
// the scheduler decides how many run on each, unless they fill the nodes. Pods of one
// node share no /dev/shm, so that NCCL uses sockets or GPUDirect between them.
//
// A job with a range of workers is elastic if its command is torchrun, which repeats
// the rendezvous when workers come or go. A plain "python train.py" would wait for
// WORLD_SIZE processes.
func pyTorchJob(t task) object {
	hosts := t.hosts(false)
	if t.Range != nil && t.Range.Max > t.Range.Min && t.runsTorchrun() {
		return object{
			{"elasticPolicy", object{{"minReplicas", max(1, min(t.Range.Min, t.Workers))}, {"maxReplicas", max(t.Range.Max, t.Workers)},
				{"rdzvBackend", "c10d"}, {"maxRestarts", elasticRestarts}}},
			{"nprocPerNode", "1"}, // processes that torchrun starts in a pod
			{"runPolicy", cleanRunning},
			{"pytorchReplicaSpecs", object{{"Worker", podsOf(t, "pytorch", t.Workers, hosts, false)}}},
		}
	}
	// Rank 0 is on the first node of the plan.
	replicas := object{{"Master", podsOf(t, "pytorch", 1, hosts[:1], false)}}
	if t.Workers > 1 {
		replicas = append(replicas, field{"Worker", podsOf(t, "pytorch", t.Workers-1, hosts, false)})
	}
	return object{{"runPolicy", cleanRunning}, {"pytorchReplicaSpecs", replicas}}
}

// runsTorchrun reports whether the command is torchrun, by one of its names.
func (t task) runsTorchrun() bool {
	c := append(slices.Clone(t.Template.Command), "", "", "")
	return programName(c[0]) == "torchrun" || strings.HasPrefix(programName(c[0]), "python") && c[1] == "-m" && c[2] == "torch.distributed.run"
}

// tfJob has replicas of parameter servers and of workers, or of workers only
// (MultiWorkerMirroredStrategy), one process per pod. The operator sets TF_CONFIG.
func tfJob(t task) object {
	replicas := object{}
	if t.PS > 0 {
		replicas = append(replicas, field{"PS", podsOf(t, "tensorflow", t.PS, t.hosts(true), true)})
	}
	replicas = append(replicas, field{"Worker", podsOf(t, "tensorflow", t.Workers, t.hosts(false), false)})
	return object{{"runPolicy", cleanRunning}, {"tfReplicaSpecs", replicas}}
}

// mpiJob has a pod per node with a slot for each of its workers, and a launcher that
// calls mpirun, unless the command does.
func mpiJob(t task) object {
	slots := t.perNode()
	launcher := object{{"name", "mpi"}, {"image", t.Template.Image}, {"command", mpirun(t)}, {"env", t.variables()}}
	worker := containerOf(t, "mpi", slots, false, nil) // the operator's own command: wait for the launcher
	return object{{"slotsPerWorker", slots}, {"runPolicy", cleanRunning}, {"mpiReplicaSpecs", object{
		{"Launcher", replica(1, object{{"spec", pod(nil, nil, nil, launcher)}})},
		{"Worker", replica(t.Workers/slots, labelled(t, pod(nil, nil, apart(t), worker)))},
	}}}
}

// mpirun is the launcher's command. It names every variable, since ssh, by which mpirun
// starts the ranks, passes none on.
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
