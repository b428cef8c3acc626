package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"knee/data"
	"knee/fit"
	"knee/internal/parallel"
	"knee/predict"
)

// Load loads a cluster, jobs, and the model of every job. A job whose model cannot be
// read is Unusable.
func Load(clusterFile, jobsFile string) (Problem, error) {
	pr := Problem{Predictors: map[string]*predict.Predictor{}, Unusable: map[string]string{}, Cache: &Cache{}}
	err := parallel.Each(2, 1, func() func(int) error {
		return func(i int) error {
			var err error
			if i == 0 {
				pr.Cluster, err = data.Load(clusterFile, data.ReadCluster)
				return err
			}
			f, err := data.Load(jobsFile, data.ReadJobs)
			if err == nil {
				pr.Jobs, pr.Tenants = f.Jobs, f.Tenants
			}
			return err
		}
	})
	if err != nil {
		return pr, err
	}
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

// AddModels loads the models of jobs of jobsFile and adds the model files to the
// inputs. Jobs with the same file share the model.
func (pr *Problem) AddModels(jobs []data.Job, jobsFile string) {
	type loaded struct {
		path  string
		model *fit.Model
		input data.Input
		err   error
	}
	at := map[string]*loaded{}
	var models []*loaded
	of := make([]*loaded, len(jobs))
	for i := range jobs {
		path := jobs[i].Model
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(jobsFile), path)
		}
		if at[path] == nil {
			at[path] = &loaded{path: path}
			models = append(models, at[path])
		}
		of[i] = at[path]
	}
	_ = parallel.Each(len(models), 1, func() func(int) error {
		return func(i int) error {
			m := models[i]
			if m.model, m.err = fit.ReadModel(m.path); m.err == nil {
				m.input, m.err = inputOf(m.path)
			}
			return nil
		}
	})
	for _, m := range models {
		if m.err == nil {
			pr.Inputs = append(pr.Inputs, m.input)
		}
	}
	for i, m := range of {
		job := &jobs[i]
		switch {
		case m == nil:
			continue
		case m.err != nil:
			pr.Unusable[job.Name] = fmt.Sprintf("its model cannot be used: %v", m.err)
			continue
		case !job.RestartGiven:
			job.RestartSeconds = m.model.StartSeconds()
		}
		pr.Predictors[job.Name] = &predict.Predictor{Model: m.model, Accumulate: job.Batch.Adapt || m.model.Batch().Adapt}
	}
}

// inputOf records an input file of the plan.
func inputOf(path string) (data.Input, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return data.Input{}, fmt.Errorf("read an input of the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return data.Input{Path: path, SHA256: hex.EncodeToString(sum[:])}, nil
}
