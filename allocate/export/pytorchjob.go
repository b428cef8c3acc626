package export

import "knee/data"

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
// Parameter servers are refused: the operator knows no such replica.
type PyTorchJob struct{}

type pytorchSpec struct {
	Policy   runPolicy `yaml:"runPolicy"`
	Replicas struct {
		Master replica  `yaml:"Master"`
		Worker *replica `yaml:"Worker,omitempty"`
	} `yaml:"pytorchReplicaSpecs"`
}

type runPolicy struct {
	CleanPodPolicy string `yaml:"cleanPodPolicy"`
}

// Export implements [Exporter].
func (PyTorchJob) Export(p data.Plan) ([]File, error) {
	return kubernetes("pytorchjob", resourceKind{"kubeflow.org/v1", "PyTorchJob", "pytorchjobs.kubeflow.org"}, p, func(t task) (any, string) {
		if t.servers() {
			return nil, "it uses parameter servers, which a PyTorchJob has no replica for; export it to tfjob or slurm"
		}
		s := pytorchSpec{Policy: runPolicy{CleanPodPolicy: "Running"}}
		hosts := t.hosts(false)
		// Rank 0 stands where the plan has its first worker.
		s.Replicas.Master = podsOf(t, "pytorch", 1, hosts[:1], false)
		if t.Workers > 1 {
			w := podsOf(t, "pytorch", t.Workers-1, hosts, false)
			s.Replicas.Worker = &w
		}
		return s, ""
	})
}
