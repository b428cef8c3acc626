package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"knee/allocate/plan"
	"knee/data"
	"knee/fit"
	"knee/predict"
)

// loadProblem loads a cluster, jobs, and the model of every job.
func loadProblem(clusterFile, jobsFile string) (plan.Problem, error) {
	var pr plan.Problem
	var err error
	if pr.Cluster, err = data.LoadCluster(clusterFile); err != nil {
		return pr, err
	}
	if pr.Jobs, err = data.LoadJobs(jobsFile); err != nil {
		return pr, err
	}
	inputs := []string{clusterFile, jobsFile}
	pr.Predictors = map[string]*predict.Predictor{}
	more, err := addModels(&pr, pr.Jobs, jobsFile)
	if err != nil {
		return pr, err
	}
	for _, path := range append(inputs, more...) {
		in, err := inputOf(path)
		if err != nil {
			return pr, err
		}
		pr.Inputs = append(pr.Inputs, in)
	}
	return pr, nil
}

// addModels loads the models of jobs and returns their paths. Jobs that name
// the same file share it.
func addModels(pr *plan.Problem, jobs []data.Job, jobsFile string) ([]string, error) {
	models := map[string]*fit.Model{}
	var paths []string
	for _, job := range jobs {
		path := job.Model
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(jobsFile), path)
		}
		if models[path] == nil {
			m, err := fit.ReadModel(path)
			if err != nil {
				return nil, fmt.Errorf("%s: model of job %s: %w", job.Source, job.Name, err)
			}
			models[path] = m
			paths = append(paths, path)
		}
		pr.Predictors[job.Name] = &predict.Predictor{Model: models[path]}
	}
	return paths, nil
}

// inputOf records a file a plan is made from.
func inputOf(path string) (data.Input, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return data.Input{}, fmt.Errorf("read an input of the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return data.Input{Path: path, SHA256: hex.EncodeToString(sum[:])}, nil
}
