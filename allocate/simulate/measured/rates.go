package measured

import (
	"fmt"
	"strings"

	"knee/allocate"
	"knee/allocate/simulate"
	"knee/data"
)

// rateKey is a job type on workers of a GPU type.
type rateKey struct {
	job, gpuType string
	workers      int
}

// Rates are measured speeds of rigid jobs, in optimizer steps/s: those of the Gavel
// publication (Narayanan et al., OSDI 2020). A GPU type such as v100_unconsolidated,
// workers spread over nodes, is a type of its own.
type Rates struct {
	steps map[rateKey]float64
	jobs  map[string]bool
}

// Knows reports whether a job type was measured at all.
func (r *Rates) Knows(job string) bool { return r.jobs[job] }

// loadRates reads a table of rates. The published one sums mini-batches over workers that
// share the steps of a job, which is what its traces count. Rows without speed could not
// run and are left out.
func loadRates(path string) (*Rates, error) {
	r := &Rates{steps: map[rateKey]float64{}, jobs: map[string]bool{}}
	err := data.LoadRows(path, []string{"gpu_type", "job_type", "scale_factor", "steps_per_s"}, func(row *data.Row) error {
		key := rateKey{row.Text("job_type"), strings.ToLower(row.Text("gpu_type")), int(row.Required("scale_factor", data.Count(1)))}
		speed := row.Required("steps_per_s", data.NonNegative("steps/s"))
		if _, twice := r.steps[key]; twice {
			row.Bad("job_type", "each job type once on a GPU type and a number of workers")
		}
		if r.jobs[key.job] = true; speed > 0 {
			r.steps[key] = speed
		}
		return nil
	})
	return r, err
}

// Options gives the options of a rigid job their measured speeds; it fails if none has one.
func (r *Rates) Options(j simulate.Job, offer []allocate.Option) ([]allocate.Option, error) {
	var out []allocate.Option
	for _, o := range offer {
		if v, ok := r.steps[rateKey{j.Application, o.Config.GPUType, o.Config.Workers}]; ok {
			out = append(out, simulate.Known(o.Config, v))
		}
	}
	if len(out) == 0 && len(offer) > 0 {
		return nil, j.Bad("job_type", fmt.Sprintf("%q on %d workers", j.Application, max(1, j.Workers)), "a job type that was measured so on a GPU type of the cluster")
	}
	return out, nil
}
