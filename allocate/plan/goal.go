package plan

import (
	"fmt"
	"math"

	"knee/data"
	"knee/predict"
)

// aim returns how to add remaining time and cost to an answer for a job: by its
// predictor, or not at all where answers carry them already. Seconds left become the
// samples that the job's present allocation, or its smallest if it has none, processes in
// that time.
func (p *prepared) aim(i int, smallest predict.Answer, o oracle) (func(*predict.Answer) error, error) {
	m, ok := p.oracles[i].(modelled)
	if !ok {
		return func(*predict.Answer) error { return nil }, nil
	}
	full := *m.Predictor
	if full.Goal == (predict.Goal{}) {
		var err error
		if full.Goal, err = goalOf(p.Jobs[i], smallest, o); err != nil {
			return nil, err
		}
	}
	return full.Finisher()
}

func goalOf(job data.Job, smallest predict.Answer, o oracle) (predict.Goal, error) {
	r := job.Remaining
	switch {
	case r.HasTarget:
		return predict.Goal{TargetLoss: r.TargetLoss, HasTarget: true}, nil
	case r.Steps > 0:
		return predict.Goal{Steps: r.Steps}, nil
	case r.Epochs > 0:
		if r.Dataset <= 0 || math.IsInf(r.Dataset, 0) {
			return predict.Goal{}, inputError(job, "remaining.dataset", fmt.Sprint(r.Dataset), "the samples of one epoch, > 0, beside epochs")
		}
		return predict.Goal{Samples: r.Epochs * r.Dataset}, nil
	case r.Seconds > 0:
		now := smallest
		if job.Current != nil {
			var err error
			if c := currentConfig(job); c.LocalBatch > 0 {
				now, err = o.At(c)
			} else {
				now, err = answer(job, o, c)
			}
			if err != nil {
				return predict.Goal{}, fmt.Errorf("remaining.seconds of job %q: speed of its present allocation: %w", job.Name, err)
			}
		}
		return predict.Goal{Samples: r.Seconds * now.Goodput.Mean}, nil
	}
	return predict.Goal{}, nil
}

func currentConfig(job data.Job) data.Config {
	cur := job.Current
	c := data.Config{
		GPUType: cur.GPUType, Mode: cur.Mode, Placement: cur.Placement, Nodes: len(cur.Placement),
		Workers: cur.Placement.Workers(), PS: cur.PS, LocalBatch: cur.LocalBatch, AccumSteps: cur.AccumSteps, Layout: cur.Layout,
	}
	if c.Mode == "" {
		c.Mode = data.AllReduce
	}
	return c
}
