package export

// TFJob writes Kubeflow TFJob manifests (kubeflow.org/v1): parameter servers
// and workers as replicas of their own, one process per pod, one GPU per
// worker. The operator passes the cluster in TF_CONFIG. A job without
// parameter servers gets workers only (MultiWorkerMirroredStrategy).
func TFJob() Exporter {
	return exporter("tfjob", kubernetes{kind: kind{"kubeflow.org/v1", "TFJob", "tfjobs.kubeflow.org"}, servers: true,
		spec: func(t task) object {
			replicas := object{}
			if t.PS > 0 {
				replicas = append(replicas, field{"PS", podsOf(t, "tensorflow", t.PS, t.hosts(true), true)})
			}
			replicas = append(replicas, field{"Worker", podsOf(t, "tensorflow", t.Workers, t.hosts(false), false)})
			return object{{"runPolicy", cleanRunning}, {"tfReplicaSpecs", replicas}}
		}}.write)
}

// cleanRunning is the policy of the training operator that removes the pods
// that still run when a job ends.
var cleanRunning = object{{"cleanPodPolicy", "Running"}}
