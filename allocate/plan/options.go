package plan

import (
	"fmt"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// Options returns every allocation that a job could get alone in the cluster, with
// predicted speed and without value: each GPU type and mode that the job allows, the
// model knows and the cluster has, with sizes in the job's range, on few nodes. There
// are none if nothing fits. It fails if the model can predict none of them.
func Options(job data.Job, p *predict.Predictor, cluster *data.Cluster) ([]allocate.Option, error) {
	all := tables{at: map[tableKey]*table{}}
	x := all.add(0, job, modelled{p}, newClusterFit(cluster))
	if len(x.shapes) == 0 {
		return nil, nil
	}
	all.fill()
	if _, err := x.smallest(); err != nil {
		return nil, fmt.Errorf("options of job %q: %w", job.Name, err)
	}
	return x.options(job, data.Config{}, nil), nil
}
