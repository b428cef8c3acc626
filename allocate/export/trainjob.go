package export

import "strconv"

// TrainJob writes Kubeflow Trainer manifests (trainer.kubeflow.org/v1alpha1):
// a TrainJob that says how many nodes and processes, and a TrainingRuntime of
// its own that keeps its pods to the nodes of the plan, which a TrainJob
// cannot say itself. The runtime starts torchrun, one process per GPU, with
// the rendezvous in its environment. Every node has the same number of
// processes, so that a plan with different counts is refused.
func TrainJob() Exporter {
	k := kind{"trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs.trainer.kubeflow.org"}
	return exporter("trainjob", kubernetes{kind: k, command: true, equal: true, spec: trainJob, before: func(t task) []any {
		return []any{manifest(t, kind{api: k.api, name: "TrainingRuntime"}, trainingRuntime(t), map[string]string{})}
	}}.write)
}

// trainingRuntime is the runtime of one job. The trainer's job and container
// are called node, and a label marks the job as the one that trains.
func trainingRuntime(t task) object {
	n := t.perNode()
	container := object{{"name", "node"}, {"image", t.Template.Image}}
	job := object{{"name", "node"}, {"template", object{
		{"metadata", object{{"labels", map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}},
		{"spec", object{{"template", labelled(t, pod(nil, nil, apart(t), container))}}},
	}}}
	return object{
		{"mlPolicy", object{{"numNodes", t.Workers / n}, {"torch", object{{"numProcPerNode", n}}}}},
		{"template", object{{"spec", object{{"replicatedJobs", []any{job}}}}}},
	}
}

func trainJob(t task) object {
	n := t.perNode()
	// The node of an allocation with one process per GPU needs no more.
	threads := variables([]field{{"OMP_NUM_THREADS", strconv.Itoa(max(1, int(t.Needs.WorkerCPUs)))}})
	return object{
		{"runtimeRef", object{{"apiGroup", "trainer.kubeflow.org"}, {"kind", "TrainingRuntime"}, {"name", t.ID}}},
		{"trainer", object{
			{"image", t.Template.Image},
			{"command", append([]string{"torchrun"}, literals(torchrunTarget(t.Template.Command))...)},
			{"env", append(t.variables(), threads...)},
			{"numNodes", t.Workers / n}, {"numProcPerNode", n},
			{"resourcesPerNode", t.resources(n, false)},
		}},
	}
}
