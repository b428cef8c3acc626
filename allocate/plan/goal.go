package plan

import (
	"fmt"
	"math"

	"knee/data"
	"knee/predict"
)

// oracle is the part of a predictor that allocation asks. It lets the whole
// pipeline be tested with jobs of known speed.
type oracle interface {
	At(data.Config) (predict.Answer, error)
	BestBatch(data.Config) (predict.Answer, error)
	GPUTypes() []string
	Modes(gpuType string) []data.Mode
}

// modelled is the oracle of a fitted model.
type modelled struct {
	*predict.Predictor
	known batches // of all jobs that are planned together; nil: nothing is remembered
}

// GPUTypes implements oracle.
func (m modelled) GPUTypes() []string { return m.Model.GPUTypes() }

// Modes implements oracle.
func (m modelled) Modes(gpuType string) []data.Mode { return m.Model.Modes(gpuType) }

// Goal turns the work a job says it has left into the goal of its predictor.
//
// Steps, a target loss and epochs × data set translate as they are. Seconds
// are seconds at the allocation the job has now, or at its smallest if it
// has none: they become as many samples as that allocation processes in
// that time. A job that says nothing has the zero goal. The predictor is
// asked for speeds only and is not changed.
func Goal(job data.Job, p *predict.Predictor, cluster *data.Cluster) (predict.Goal, error) {
	return goalOf(job, modelled{Predictor: p}, newClusterFit(cluster))
}

func goalOf(job data.Job, o oracle, in *clusterFit) (predict.Goal, error) {
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
		a, err := presentAnswer(job, o, in)
		if err != nil {
			return predict.Goal{}, fmt.Errorf("remaining.seconds of job %q: speed of its present allocation: %w", job.Name, err)
		}
		return predict.Goal{Samples: r.Seconds * a.Goodput.Mean}, nil
	}
	return predict.Goal{}, nil
}

// presentAnswer predicts the allocation a job has, else its smallest.
func presentAnswer(job data.Job, o oracle, in *clusterFit) (predict.Answer, error) {
	if job.Current == nil {
		return reference(job, o, in)
	}
	c := currentConfig(job)
	if c.LocalBatch > 0 {
		return o.At(c)
	}
	return answer(job, o, c)
}

// currentConfig is what a job runs on now as a configuration.
func currentConfig(job data.Job) data.Config {
	cur := job.Current
	c := data.Config{
		GPUType: cur.GPUType, Mode: cur.Mode, Placement: cur.Placement, Nodes: len(cur.Placement),
		Workers: cur.Placement.Workers(), PS: cur.PS, LocalBatch: cur.LocalBatch, AccumSteps: cur.AccumSteps,
	}
	if c.Mode == "" {
		c.Mode = data.AllReduce
	}
	return c
}

// inputError names a field of the jobs file.
func inputError(job data.Job, field, found, want string) error {
	src := job.Source
	src.Column = field
	if src.File == "" {
		return &data.InputError{Source: data.Source{File: "job " + job.Name, Column: field}, Found: found, Want: want}
	}
	return &data.InputError{Source: src, Found: found, Want: want}
}
