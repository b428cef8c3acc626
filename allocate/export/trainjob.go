package export

import "strconv"

// trainer is the API of Kubeflow's Trainer.
const trainer = "trainer.kubeflow.org/v1alpha1"

// trainingRuntime restricts the pods of one job to the nodes of the plan, which a
// TrainJob cannot do, and starts torchrun, one process per GPU, with the rendezvous
// in its environment. The trainer's job and container are named node, and a label
// marks the job that trains.
func trainingRuntime(t task) object {
	n := t.perNode()
	container := object{{"name", "node"}, {"image", t.Template.Image}}
	job := object{{"name", "node"}, {"template", object{
		{"metadata", object{{"labels", map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}},
		{"spec", object{{"template", labelled(t, pod(nil, nil, apart(t), container))}}},
	}}}
	return manifest(t, trainer, "TrainingRuntime", object{
		{"mlPolicy", object{{"numNodes", t.Workers / n}, {"torch", object{{"numProcPerNode", n}}}}},
		{"template", object{{"spec", object{{"replicatedJobs", []any{job}}}}}},
	}, map[string]string{})
}

// trainJob has the numbers of nodes and of processes per node.
func trainJob(t task) object {
	n := t.perNode()
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
