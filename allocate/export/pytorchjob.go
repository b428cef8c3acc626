package export

import "strings"

// PyTorchJob writes Kubeflow PyTorchJob manifests (kubeflow.org/v1).
//
// Every worker is one pod with one process and one GPU: the operator then
// sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for a plain
// "python train.py", and any placement can be written, even one with
// different counts per node. Pods are kept to the nodes of the placement by
// hostname; how many of them each of those nodes takes is left to the
// scheduler, whose choice is forced where nodes are filled. Processes of
// one node in separate pods share no /dev/shm, so NCCL uses sockets or
// GPUDirect between them.
//
// A job whose number of workers may vary is elastic if its command is torchrun,
// which lets the workers meet anew when some come or go: it has an
// elasticPolicy with the range as minReplicas and maxReplicas and no Master.
// The operator then sets what torchrun reads. A plain "python train.py" would
// wait for exactly WORLD_SIZE processes, so that its size is fixed.
func PyTorchJob() Exporter {
	return exporter("pytorchjob", kubernetes{kind: kind{"kubeflow.org/v1", "PyTorchJob", "pytorchjobs.kubeflow.org"}, spec: pyTorchJob}.write)
}

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
	// Rank 0 stands where the plan has its first worker.
	replicas := object{{"Master", podsOf(t, "pytorch", 1, hosts[:1], false)}}
	if t.Workers > 1 {
		replicas = append(replicas, field{"Worker", podsOf(t, "pytorch", t.Workers-1, hosts, false)})
	}
	return object{{"runPolicy", cleanRunning}, {"pytorchReplicaSpecs", replicas}}
}

// runsTorchrun reports whether the command is torchrun, by one of its names.
func (t task) runsTorchrun() bool {
	c := t.Template.Command
	if len(c) > 0 && programName(c[0]) == "torchrun" {
		return true
	}
	return len(c) > 2 && strings.HasPrefix(programName(c[0]), "python") && c[1] == "-m" && c[2] == "torch.distributed.run"
}
