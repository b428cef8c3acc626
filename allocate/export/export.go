package export

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"knee/data"
)

// File is one file of an export.
type File struct {
	Name string // relative to the output folder, without separators
	Mode fs.FileMode
	Data []byte
}

// Exporter writes the files of a plan for one scheduler.
type Exporter func(data.Plan) ([]File, error)

// Refusal is the error of a plan that a target cannot express.
type Refusal struct {
	Target string
	Job    string // empty if it is about the whole plan
	Reason string
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Job == "" {
		return fmt.Sprintf("export to %s: %s", r.Target, r.Reason)
	}
	return fmt.Sprintf("export to %s: job %q: %s", r.Target, r.Job, r.Reason)
}

// exporters is the registry: one line for each target.
func exporters() map[string]Exporter {
	out := map[string]Exporter{
		"json": planJSON,
		"csv":  planCSV,
	}
	for name, write := range map[string]func([]task) ([]File, error){"slurm": slurm, "torchrun": torchrun, "kueue": kueue} {
		out[name] = starts(name, write)
	}
	for name, k := range map[string]kubernetes{
		"pytorchjob": {kind: "PyTorchJob", resource: "pytorchjobs.kubeflow.org"},
		"tfjob":      {kind: "TFJob", resource: "tfjobs.kubeflow.org", servers: true},
		"mpijob":     {kind: "MPIJob", resource: "mpijobs.kubeflow.org", command: true, equal: true},
		"trainjob":   {kind: "TrainJob", resource: "trainjobs.trainer.kubeflow.org,trainingruntimes.trainer.kubeflow.org", command: true, equal: true},
		"jobset":     jobSets,
		"volcano":    {kind: "Job", resource: "jobs.batch.volcano.sh", command: true, servers: true, endless: true},
		"rayjob":     {kind: "RayJob", resource: "rayjobs.ray.io", command: true},
	} {
		out[name] = starts(name, func(ts []task) ([]File, error) { return k.write(name+".yaml", ts, "") })
	}
	return out
}

var jobSets = kubernetes{kind: "JobSet", resource: "jobsets.jobset.x-k8s.io", command: true, servers: true}

// starts is the exporter of a target that starts the jobs of a plan; write gets
// them checked.
func starts(target string, write func([]task) ([]File, error)) Exporter {
	return func(p data.Plan) ([]File, error) {
		ts, err := tasks(p)
		for _, t := range ts {
			if target != "pytorchjob" && !t.Paused() && !t.Kept() && t.Workers > 1 && t.torchrun() && err == nil {
				err = t.refuse("its command is torchrun, which starts the workers of a node itself, and this target starts each: give the command of one worker, such as [python, train.py], or export to pytorchjob")
			}
		}
		var files []File
		if err == nil {
			files, err = write(ts)
		}
		if refused, ok := errors.AsType[*Refusal](err); ok {
			refused.Target = target
		} else if err != nil {
			err = fmt.Errorf("export to %s: %w", target, err)
		}
		return files, err
	}
}

// Names lists the known targets.
func Names() []string { return slices.Sorted(maps.Keys(exporters())) }

// New returns the exporter of a target.
func New(name string) (Exporter, error) {
	if e, ok := exporters()[name]; ok {
		return e, nil
	}
	return nil, &data.UnknownError{What: "export target", Name: name, Known: Names(),
		Hint: "; all but csv, json, slurm and torchrun are for Kubernetes, rayjob for Ray on it"}
}
