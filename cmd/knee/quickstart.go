package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/predict"
	"knee/profile"
	"knee/profile/space"

	"github.com/spf13/cobra"
)

func newQuickstart(a *app) *cobra.Command {
	q := quickstart{app: a}
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Measure, model and share two real training jobs on this machine, in about a minute",
		Long: `quickstart trains two small models with real processes on this machine, measures
configurations chosen one by one, fits their speed, checks a prediction by
measuring it, divides this machine between the two jobs, and writes plan,
exports, figures and a report to a folder.

Run it again to continue after an interrupt; a finished one begins anew.`,
		Example: "  knee quickstart\n  knee quickstart --dir /tmp/quick --trials 6",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&q.dir, "dir", "knee-quickstart", "folder to write to")
	cmd.Flags().IntVar(&q.trials, "trials", 8, "trials per job")
	cmd.Flags().Float64Var(&q.trialSeconds, "trial-seconds", 2, "longest trial")
	cmd.Flags().Int64Var(&q.seed, "seed", 1, "seed of random draws")
	return cmd
}

type quickstart struct {
	app          *app
	dir          string
	trials       int
	trialSeconds float64
	seed         int64

	begun   time.Time
	cluster *data.Cluster
	jobs    []*quickJob
	problem plan.Problem
	plan    *data.Plan
	even    *data.Plan
	exports []string
}

// quickJob is one of the two jobs and its results so far.
type quickJob struct {
	name, about string
	study       *data.Study
	files       profile.Files
	result      profile.Result
	model       *fit.Model
	predictor   *predict.Predictor
	workers     []int            // of the study, ascending
	curve       []predict.Answer // the scalability curve of its best mode
	knee        predict.Answer
	best        predict.Answer   // the best of all candidates
	checked     predict.Answer   // predicted, and not measured before
	check       data.Measurement // its measurement
	again       float64          // step time of the first trial measured again, over the first; 0 if it failed
}

// quickInitialBatch is the global batch both jobs start from.
const quickInitialBatch = 32

// run takes every step in order; each writes its files.
func (q *quickstart) run(ctx context.Context) error {
	q.begun = time.Now()
	if q.trials < 4 || q.trialSeconds <= 0 {
		return usageError("--trials %d --trial-seconds %g: want at least 4 trials of positive length", q.trials, q.trialSeconds)
	}
	if err := os.MkdirAll(q.dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, step := range []func(context.Context) error{
		q.describe, q.measure, q.model, q.checkPredictions, q.share, q.draw, q.summarize,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (q *quickstart) path(name string) string { return filepath.Join(q.dir, name) }

func (q *quickstart) say(format string, args ...any) { q.app.note("\n"+format, args...) }

// describe writes the studies of the two jobs and this machine as a cluster.
func (q *quickstart) describe(context.Context) error {
	node, err := machineOfCores() // the built-in trainer does not use GPUs
	if err != nil {
		return err
	}
	q.cluster = &data.Cluster{Nodes: []data.Node{node}}
	// The workers of both jobs wait for their input about half of the time, so
	// that two of them share a core.
	q.cluster.Nodes[0].GPUs *= 2
	q.cluster.Nodes[0].PricePerHour = 0.05 * float64(q.cluster.Nodes[0].GPUs)
	if err := data.WriteFile(q.path("cluster.yaml"), func(w io.Writer) error { return data.WriteCluster(w, q.cluster) }); err != nil {
		return err
	}
	q.jobs = []*quickJob{
		{name: "vision", about: "much arithmetic, few parameters, averaged by all-reduce"},
		{name: "language", about: "little arithmetic, many parameters, kept by parameter servers"},
	}
	args := map[string][]string{
		"vision":   {"--model", "large", "--input-rate", "4000"},
		"language": {"--model", "small", "--message-bytes", "2Mi", "--input-rate", "12000"},
	}
	modes := map[string][]data.Knob{
		"vision":   {{Name: "mode", Values: []string{string(data.AllReduce)}}},
		"language": {{Name: "mode", Values: []string{string(data.PSSync)}}, {Name: "ps", Values: []string{"1", "2"}}},
	}
	for _, j := range q.jobs {
		file := q.path(j.name + ".yaml")
		j.files = profile.FilesBeside(file, "")
		j.study = q.study(j.name, append([]string{"knee", "train"}, args[j.name]...), modes[j.name])
		if err := data.WriteFile(file, func(w io.Writer) error { return data.WriteStudy(w, j.study) }); err != nil {
			return err
		}
		// Read from the file, which a user may have edited.
		if j.study, err = data.LoadStudy(file); err != nil {
			return err
		}
	}
	return nil
}

func (q *quickstart) study(name string, command []string, modes []data.Knob) *data.Study {
	most := max(4, min(8, 2*runtime.NumCPU())) // beyond the cores, where the curve bends
	return &data.Study{
		Job: name, Command: command, Launcher: data.LauncherSpec{Local: &data.LocalSpec{Ranks: true}},
		Space: append(modes,
			data.Knob{Name: "workers", Range: &data.Range{Min: 1, Max: float64(most), Scale: "linear"}},
			data.Knob{Name: "local_batch", Values: []string{"32", "64", "128", "256"}}),
		Objective: data.Objective{Maximize: "goodput"}, Metrics: data.Metrics{JSONL: true},
		Batch: data.Batch{Initial: quickInitialBatch, Max: 256 * float64(most), Adapt: true},
		Trial: data.TrialSettings{Warmup: -1, MinSteps: 30, MaxSeconds: q.trialSeconds, RelPrecision: 0.03,
			Timeout: 30 * time.Second, Retries: 1},
		Budget: data.Budget{Trials: q.trials}, Parallel: 1,
		PricePerHour: map[string]float64{"cpu": 0.05}, Seed: q.seed,
	}
}

func (q *quickstart) measure(ctx context.Context) error {
	_, err := os.Stat(q.path("summary.txt"))
	finished := err == nil
	for _, j := range q.jobs {
		q.say("Measuring %s (%s): %d configurations of this machine, chosen one by one", j.name, j.about, q.trials)
		if j.result, err = q.app.measure(ctx, j.study, j.files, profile.Settings{Restart: finished}); err != nil {
			return err
		}
		if j.result.Drained {
			return fmt.Errorf("%w: run knee quickstart again to continue", errInterrupted)
		}
		q.app.note("%s", j.result.Stopped)
	}
	return nil
}

func (q *quickstart) model(context.Context) error {
	q.say("Fitting")
	for _, j := range q.jobs {
		var err error
		if j.model, err = fit.Fit(j.result.Measurements, fit.Settings{Seed: q.seed}); err != nil {
			return fmt.Errorf("fit %s: %w", j.name, err)
		}
		if err := j.model.AddCurve(j.result.Curves, j.study.Batch, convergence.Settings{}); err != nil {
			q.app.warn(fmt.Sprintf("%s: %v", j.name, err))
		}
		if err := fit.WriteModel(q.path(j.name+".model.json"), j.model); err != nil {
			return err
		}
		for _, w := range j.model.Warnings() {
			q.app.warn(j.name + ": " + w)
		}
		j.predictor = &predict.Predictor{Model: j.model, Batch: j.study.Batch, Price: j.study.PricePerHour}
		if err := j.predict(); err != nil {
			return fmt.Errorf("predict %s: %w", j.name, err)
		}
	}
	return nil
}

// predict finds the best candidate of a job, the curve it is on and the
// knee of that curve.
func (j *quickJob) predict() error {
	candidates, err := space.Candidates(j.study)
	if err != nil {
		return err
	}
	if j.best, err = predict.Best(j.predictor, predict.Within(j.predictor, candidates), predict.Limits{}); err != nil {
		return err
	}
	// The most promising of those never measured puts the model to the test.
	unmeasured := predict.Within(j.predictor, predict.Unmeasured(candidates, j.result.Measurements))
	if j.checked, err = predict.Best(j.predictor, unmeasured, predict.Limits{}); err != nil {
		return err
	}
	base := j.best.Config
	// Only sizes of the study: beyond the cores the curve bends in ways that
	// smaller sizes do not show.
	j.workers = studyWorkers(candidates)
	if j.curve, err = predict.Sweep(j.predictor, base, j.workers); err != nil {
		return err
	}
	j.knee = j.curve[max(predict.Knee(j.curve), 0)]
	return nil
}

// studyWorkers lists the numbers of workers among candidates, ascending.
func studyWorkers(candidates []data.Config) []int {
	seen := map[int]bool{}
	for _, c := range candidates {
		seen[c.Workers] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// checkPredictions measures, for each job, a configuration that was only
// predicted, and the first trial again, which shows the noise of the machine.
func (q *quickstart) checkPredictions(ctx context.Context) error {
	for _, j := range q.jobs {
		q.say("Checking %s: %s was not measured; the model says %s per step", j.name, j.checked.Config, between(j.checked.StepTime, seconds))
		files := profile.FilesBeside(q.path(j.name+"-check.yaml"), "")
		res, err := q.app.measure(ctx, j.study, files, profile.Settings{Restart: true, Only: []data.Config{j.checked.Config, j.result.Measurements[0].Config}})
		if err != nil {
			return err
		}
		if len(res.Measurements) == 0 {
			return fmt.Errorf("%w: run knee quickstart again to continue", errInterrupted)
		}
		j.check = res.Measurements[0]
		if then := j.result.Measurements[0]; len(res.Measurements) > 1 && res.Measurements[1].Status == data.OK && then.Status == data.OK {
			j.again = res.Measurements[1].StepTime / then.StepTime
		}
	}
	return nil
}

// share divides this machine between the jobs and exports the plan.
func (q *quickstart) share(context.Context) error {
	q.say("Sharing this machine")
	jobs := make([]data.Job, len(q.jobs))
	for i, j := range q.jobs {
		jobs[i] = data.Job{
			Name: j.name, Model: j.name + ".model.json", Remaining: data.Remaining{Steps: 200_000}, Weight: 1,
			Workers: data.IntRange{Min: 1, Max: q.cluster.Nodes[0].GPUs}, GPUTypes: []string{"cpu"}, Batch: j.study.Batch,
			Resources: data.Resources{Worker: data.Need{CPUs: 0.5}},
			Template:  data.Template{Image: "registry.example.com/knee:latest", Command: j.study.Command},
		}
	}
	err := data.WriteFile(q.path("jobs.yaml"), func(w io.Writer) error { return data.WriteJobs(w, &data.JobsFile{Jobs: jobs}) })
	if err != nil {
		return err
	}
	problem, err := plan.Load(q.path("cluster.yaml"), q.path("jobs.yaml"))
	if err != nil {
		return err
	}
	problem.Seed, problem.Risk = q.seed, cautious
	q.problem = problem
	if q.plan, err = policy.Solve(problem); err != nil {
		return err
	}
	even := problem
	even.Policy = "even"
	if q.even, err = policy.Solve(even); err != nil {
		return err
	}
	if err := data.WriteFile(q.path("plan.json"), func(w io.Writer) error { return data.WritePlan(w, q.plan) }); err != nil {
		return err
	}
	return q.export()
}

// export writes the plan for the schedulers that can express it.
func (q *quickstart) export() error {
	q.exports = nil
	var refused []string
	for _, target := range []string{"slurm", "pytorchjob", "tfjob"} {
		files, err := exportPlan(q.plan, target)
		if err != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", target, err))
			continue
		}
		if err := saveFiles(q.path(target), files, io.Discard); err != nil {
			return err
		}
		q.exports = append(q.exports, target)
	}
	if len(q.exports) == 0 {
		return errors.New("no exporter could express the plan: " + strings.Join(refused, "; "))
	}
	return nil
}
