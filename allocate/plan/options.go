package plan

import (
	"fmt"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// Options returns every allocation of a cluster that a job could get by itself,
// with its predicted speed and no value: each GPU type and mode the job allows,
// the model knows and the cluster has, with sizes in the job's range, packed on
// few nodes. There are none if nothing fits. It fails if the model can answer
// nothing.
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
