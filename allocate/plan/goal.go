package plan

import (
	"fmt"
	"math"

	"knee/data"
	"knee/predict"
)

// aim is the remaining work of one job and the prices of its cluster.
type aim struct {
	predict.Finisher
	given bool // false: answers carry it already
}

// apply adds remaining time and cost to an answer.
func (a *aim) apply(x *predict.Answer) error {
	if !a.given {
		return nil
	}
	return a.Finish(x)
}

// aim converts the remaining work of a job for its predictor: steps, a target loss
// and epochs × data set unchanged. Seconds become the samples that the job's
// present allocation, or its smallest if it has none, processes in that time.
func (p *prepared) aim(i int, smallest predict.Answer, o oracle) (*aim, error) {
	job := p.Jobs[i]
	m, ok := p.oracles[i].(modelled)
	if !ok {
		return &aim{}, nil
	}
	full := *m.Predictor
	if full.Goal == (predict.Goal{}) {
		g, err := goalOf(job, smallest, o)
		if err != nil {
			return nil, err
		}
		full.Goal = g
	}
	f, err := full.Finisher()
	if err != nil {
		return nil, err
	}
	return &aim{f, true}, nil
}

// goalOf is the goal of a job; the zero goal if it has none.
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

// currentConfig is what a job runs on now as a configuration.
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
