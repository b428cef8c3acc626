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

// Exporter writes one scheduler's files for one plan.
type Exporter interface {
	Export(data.Plan) ([]File, error)
}

// Refusal is the error of a plan that a target cannot express.
type Refusal struct {
	Target string
	Job    string // empty if it is not about one job
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
	return map[string]Exporter{
		"json":       JSON{},
		"csv":        CSV{},
		"slurm":      Slurm(),
		"pytorchjob": PyTorchJob(),
		"mpijob":     MPIJob(),
		"trainjob":   TrainJob(),
		"jobset":     JobSet(),
		"kueue":      Kueue(),
		"volcano":    Volcano(),
		"rayjob":     RayJob(),
		"tfjob":      TFJob(),
		"torchrun":   Torchrun(),
	}
}

// Names lists the known targets.
func Names() []string { return slices.Sorted(maps.Keys(exporters())) }

// New returns the exporter of a target.
func New(name string) (Exporter, error) {
	if e, ok := exporters()[name]; ok {
		return e, nil
	}
	return nil, &data.UnknownError{What: "export target", Name: name, Known: Names()}
}

// target writes the jobs of a plan once they have been checked.
type target struct {
	name  string
	write func(data.Plan, []task) ([]File, error)
}

// exporter is the exporter of a target that starts jobs.
func exporter(name string, write func(data.Plan, []task) ([]File, error)) Exporter {
	return target{name, write}
}

// Export implements [Exporter].
func (x target) Export(p data.Plan) ([]File, error) {
	ts, err := tasks(p)
	var files []File
	if err == nil {
		files, err = x.write(p, ts)
	}
	var refused *Refusal
	if errors.As(err, &refused) {
		refused.Target = x.name
	} else if err != nil {
		err = fmt.Errorf("export to %s: %w", x.name, err)
	}
	return files, err
}
