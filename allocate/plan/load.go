package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"knee/data"
	"knee/fit"
	"knee/internal/grouped"
	"knee/internal/parallel"
	"knee/predict"
)

// Load loads a cluster, jobs and their models; a job whose model cannot be read is Unusable.
func Load(clusterFile, jobsFile string) (Problem, error) {
	pr := Problem{Predictors: map[string]*predict.Predictor{}, Unusable: map[string]string{}, Cache: &Cache{}}
	var g errgroup.Group
	g.Go(func() (err error) {
		pr.Cluster, err = data.Load(clusterFile, data.ReadCluster)
		return err
	})
	f, err := data.Load(jobsFile, data.ReadJobs)
	if err := cmp.Or(g.Wait(), err); err != nil {
		return pr, err
	}
	pr.Jobs, pr.Tenants = f.Jobs, f.Tenants
	for _, path := range []string{clusterFile, jobsFile} {
		in, err := inputOf(path)
		if err != nil {
			return pr, err
		}
		pr.Inputs = append(pr.Inputs, in)
	}
	pr.AddModels(pr.Jobs, jobsFile)
	return pr, nil
}

// AddModels loads the models of jobs of jobsFile and adds their files to the inputs.
func (pr *Problem) AddModels(jobs []data.Job, jobsFile string) {
	var with []int
	for i := range jobs {
		if jobs[i].Model != "" {
			with = append(with, i)
		}
	}
	paths, users := grouped.By(with, func(i int) string { return data.Source{File: jobsFile}.Beside(jobs[i].Model) })
	models, inputs, errs := make([]*fit.Model, len(paths)), make([]data.Input, len(paths)), make([]error, len(paths))
	parallel.Do(len(paths), 1, func(n int) {
		if models[n], errs[n] = fit.ReadModel(paths[n]); errs[n] == nil {
			inputs[n], errs[n] = inputOf(paths[n])
		}
	})
	for n, path := range paths {
		if errs[n] == nil {
			pr.Inputs = append(pr.Inputs, inputs[n])
		}
		for _, i := range users[path] {
			job := &jobs[i]
			if errs[n] != nil {
				pr.Unusable[job.Name] = fmt.Sprintf("its model cannot be used: %v", errs[n])
				continue
			}
			if !job.RestartGiven {
				job.RestartSeconds = models[n].StartSeconds()
			}
			pr.Predictors[job.Name] = &predict.Predictor{Model: models[n], Accumulate: job.Batch.Adapt || models[n].Batch().Adapt}
		}
	}
}

func inputOf(path string) (data.Input, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return data.Input{}, fmt.Errorf("read an input of the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return data.Input{Path: path, SHA256: hex.EncodeToString(sum[:])}, nil
}
