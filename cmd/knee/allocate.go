package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/data"
	"knee/fit"
	"knee/predict"
)

// cautious is how far from its expected speed towards the low end of its
// interval an option is valued unless the user says otherwise. Of many
// options with uncertain speeds the best-looking one is likely to be
// overestimated, so that a plan made with expected speeds disappoints.
const cautious = 0.5

func newAllocate(a *app) *cobra.Command {
	var clusterFile, jobsFile, objective, policyName, planFile string
	var seed int64
	var risk float64
	var out format
	cmd := &cobra.Command{
		Use:   "allocate --cluster CLUSTER.yaml --jobs JOBS.yaml",
		Short: "Divide a cluster among jobs by marginal gain of predicted goodput",
		Long: `allocate gives each job the workers, parameter servers, GPU type and batch that
together gain most, places them on nodes, and says what changes against what
runs now: keep, start, grow, shrink, move or pause. Each line says why the job
got its last GPU and what the next one would bring.

The plan prints its value, an upper bound that no plan can exceed, and the gap
between them. Write it with --plan (or -o json) for knee export.`,
		Example: `  knee allocate --cluster cluster.yaml --jobs jobs.yaml
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --plan plan.json
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --policy even -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			problem, err := loadProblem(clusterFile, jobsFile)
			if err != nil {
				return err
			}
			problem.Objective, problem.Policy, problem.Seed, problem.Risk = objective, policyName, seed, risk
			plan, err := policy.Solve(problem)
			var none *allocate.Infeasible
			if errors.As(err, &none) {
				return infeasibleError{err}
			}
			if err != nil {
				return err
			}
			if planFile != "" {
				if err := data.WriteFile(planFile, func(w io.Writer) error { return data.WritePlan(w, plan) }); err != nil {
					return err
				}
			}
			if out == "json" {
				return data.WritePlan(a.stdout, plan)
			}
			a.warn(plan.Warnings...)
			if err := out.print(a.stdout, plan, planTable(plan)); err != nil {
				return err
			}
			a.note("%s", planSummary(plan))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&clusterFile, "cluster", "", "the cluster (cluster.yaml)")
	f.StringVar(&jobsFile, "jobs", "", "the jobs (jobs.yaml)")
	f.StringVar(&objective, "objective", "", "what to improve: "+strings.Join(allocate.Objectives(), ", ")+" (default jct)")
	f.StringVar(&policyName, "policy", "", "who decides: "+strings.Join(policy.Names(), ", ")+" (default "+allocate.PolicyMarginalGain+")")
	f.Float64Var(&risk, "risk", cautious, "how cautious: 0 plans with expected speeds, 1 with the low ends of their 90 % intervals")
	f.StringVar(&planFile, "plan", "", "also write plan.json here")
	f.Int64Var(&seed, "seed", 1, "seed recorded in the plan")
	formatFlag(cmd, &out)
	for _, name := range []string{"cluster", "jobs"} {
		_ = cmd.MarkFlagRequired(name)
		_ = cmd.MarkFlagFilename(name, "yaml", "yml")
	}
	_ = cmd.RegisterFlagCompletionFunc("objective", cobra.FixedCompletions(allocate.Objectives(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(policy.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// loadProblem loads a cluster, jobs, and the model of every job.
func loadProblem(clusterFile, jobsFile string) (allocate.Problem, error) {
	var pr allocate.Problem
	var err error
	if pr.Cluster, err = data.LoadCluster(clusterFile); err != nil {
		return pr, err
	}
	if pr.Jobs, err = data.LoadJobs(jobsFile); err != nil {
		return pr, err
	}
	inputs := []string{clusterFile, jobsFile}
	pr.Predictors = map[string]*predict.Predictor{}
	for _, job := range pr.Jobs {
		path := job.Model
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(jobsFile), path)
		}
		m, err := fit.ReadModel(path)
		if err != nil {
			return pr, fmt.Errorf("%s: model of job %s: %w", job.Source, job.Name, err)
		}
		pr.Predictors[job.Name] = &predict.Predictor{Model: m}
		inputs = append(inputs, path)
	}
	for _, path := range inputs {
		in, err := inputOf(path)
		if err != nil {
			return pr, err
		}
		pr.Inputs = append(pr.Inputs, in)
	}
	return pr, nil
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

// planTable shows a plan as what it changes.
func planTable(plan *data.Plan) table {
	t := table{columns: []string{"job", "action", "workers", "ps", "gpu_type", "mode", "batch", "nodes", "goodput", "finish", "cost", "reason"}}
	for _, j := range plan.Jobs {
		if j.Action == data.Pause {
			t.add(j.Name, string(j.Action), "0", "", "", "", "", "", "", "", "", j.Reason)
			continue
		}
		finish, cost := "", ""
		if j.Finish.Mean > 0 {
			finish = between(j.Finish, seconds)
		}
		if j.Cost.Mean > 0 {
			cost = between(j.Cost, dollars)
		}
		t.add(j.Name, string(j.Action), fmt.Sprint(j.Workers), fmt.Sprint(j.PS), j.GPUType, string(j.Mode), batchText(j), nodesText(j.Placement),
			between(j.Goodput, number), finish, cost, j.Reason)
	}
	return t
}

func batchText(j data.PlannedJob) string {
	if j.AccumSteps == 0 {
		return number(j.LocalBatch)
	}
	return fmt.Sprintf("%s ×%d", number(j.LocalBatch), j.AccumSteps+1)
}

func nodesText(shares []data.NodeShare) string {
	var parts []string
	for _, s := range shares {
		text := fmt.Sprintf("%s:%d", s.Node, s.Workers)
		if s.PS > 0 {
			text += fmt.Sprintf("+%dps", s.PS)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func planSummary(plan *data.Plan) string {
	return fmt.Sprintf("%s, objective %s: value %s, no plan exceeds %s (gap %.2f %%); %d of %d worker slots in use",
		plan.Policy, plan.Objective, number(plan.Value), number(plan.Bound), 100*plan.Gap, plan.Utilization.GPUsUsed, plan.Utilization.GPUsTotal)
}
