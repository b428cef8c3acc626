package export

import "knee/data"

// TFJob writes Kubeflow TFJob manifests (kubeflow.org/v1): parameter servers
// and workers as replicas of their own, one process per pod, one GPU per
// worker. The operator passes the cluster in TF_CONFIG. A job without
// parameter servers gets workers only (MultiWorkerMirroredStrategy).
type TFJob struct{}

type tfSpec struct {
	Policy   runPolicy `yaml:"runPolicy"`
	Replicas struct {
		PS     *replica `yaml:"PS,omitempty"`
		Worker replica  `yaml:"Worker"`
	} `yaml:"tfReplicaSpecs"`
}

// Export implements [Exporter].
func (TFJob) Export(p data.Plan) ([]File, error) {
	return kubernetes("tfjob", resourceKind{"kubeflow.org/v1", "TFJob", "tfjobs.kubeflow.org"}, p, func(t task) (any, string) {
		if t.Mode.UsesPS() && t.PS == 0 {
			return nil, "its mode is " + string(t.Mode) + ", but the plan gives it no parameter server"
		}
		s := tfSpec{Policy: runPolicy{CleanPodPolicy: "Running"}}
		if t.PS > 0 {
			ps := podsOf(t, "tensorflow", t.PS, t.hosts(true), true)
			s.Replicas.PS = &ps
		}
		s.Replicas.Worker = podsOf(t, "tensorflow", t.Workers, t.hosts(false), false)
		return s, ""
	})
}
