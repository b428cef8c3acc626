package export

import (
	"strings"

	"knee/data"
)

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
// elasticPolicy with the range as minReplicas and maxReplicas and no Master,
// and its pods are kept to the GPU nodes of the placement. The operator then
// sets PET_NNODES, PET_RDZV_ENDPOINT and their like, which torchrun reads. A
// plain "python train.py" would wait for exactly WORLD_SIZE processes, so
// that its size is fixed.
//
// Parameter servers are refused: the operator knows no such replica.
type PyTorchJob struct{}

// elasticPolicy is the range of an elastic job.
type elasticPolicy struct {
	Min         int    `yaml:"minReplicas"`
	Max         int    `yaml:"maxReplicas"`
	Backend     string `yaml:"rdzvBackend"`
	MaxRestarts int    `yaml:"maxRestarts"`
}

type pytorchSpec struct {
	Elastic  *elasticPolicy `yaml:"elasticPolicy,omitempty"`
	PerPod   string         `yaml:"nprocPerNode,omitempty"` // processes that torchrun starts
	Policy   runPolicy      `yaml:"runPolicy"`
	Replicas struct {
		Master *replica `yaml:"Master,omitempty"`
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
		if s.Elastic = elastic(t); s.Elastic != nil {
			w := podsOf(t, "pytorch", t.Workers, hosts, false)
			s.Replicas.Worker, s.PerPod = &w, "1"
			return s, ""
		}
		// Rank 0 stands where the plan has its first worker.
		m := podsOf(t, "pytorch", 1, hosts[:1], false)
		s.Replicas.Master = &m
		if t.Workers > 1 {
			w := podsOf(t, "pytorch", t.Workers-1, hosts, false)
			s.Replicas.Worker = &w
		}
		return s, ""
	})
}

// elastic is the elastic policy of a job, nil if its size is fixed.
func elastic(t task) *elasticPolicy {
	if t.Range == nil || t.Range.Max <= t.Range.Min || !t.runsTorchrun() {
		return nil
	}
	return &elasticPolicy{Min: max(1, min(t.Range.Min, t.Workers)), Max: max(t.Range.Max, t.Workers),
		Backend: "c10d", MaxRestarts: elasticRestarts}
}

// runsTorchrun reports whether the command is torchrun, by one of its names.
func (t task) runsTorchrun() bool {
	c := t.Template.Command
	if len(c) > 0 && programName(c[0]) == "torchrun" {
		return true
	}
	return len(c) > 2 && strings.HasPrefix(programName(c[0]), "python") && c[1] == "-m" && c[2] == "torch.distributed.run"
}
