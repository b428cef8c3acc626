package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/internal/term"
	"knee/predict"
	"knee/profile"
	"knee/profile/space"
)

func newQuickstart(a *app) *cobra.Command {
	q := quickstart{app: a, trials: 8, trialSeconds: 2}
	cmd := command("quickstart", func(cmd *cobra.Command, _ []string) error { return q.run(cmd.Context()) })
	cmd.Flags().StringVar(&q.dir, "dir", "knee-quickstart", "folder to write to")
	bounded(cmd, &q.trials, "trials", "trials per job", atLeast(4))
	bounded(cmd, &q.trialSeconds, "trial-seconds", "longest trial", data.PositiveSeconds())
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
	jobs    []*quickJob
	plan    *data.Plan
	totals  plan.Totals
	even    plan.Totals // of an even split
	exports []string
}

type quickJob struct {
	Name, About string
	study       *data.Study
	Result      profile.Result
	predictor   *predict.Predictor
	workers     []int // of the study, ascending
	Knee        predict.Answer
	Best        predict.Answer   // the best of all candidates
	Checked     predict.Answer   // predicted, and not measured before
	Check       data.Measurement // its measurement
	Again       data.Measurement // the first trial measured again
}

// quickFiles are the studies, the cluster and the jobs of the quick start.
//
//go:embed quickstart
var quickFiles embed.FS

// run takes every step in order; each writes its files.
func (q *quickstart) run(ctx context.Context) error {
	q.begun = time.Now()
	for _, step := range []func(context.Context) error{
		q.describe, q.measure, q.model, q.checkPredictions, q.share, q.show, q.summarize,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (q *quickstart) path(name string) string { return filepath.Join(q.dir, name) }

func (q *quickstart) say(format string, args ...any) { q.app.note("\n"+format, args...) }

// describe writes the studies of the two jobs, the jobs, and this machine as a cluster.
func (q *quickstart) describe(context.Context) error {
	node, err := machineOfCores() // the built-in trainer does not use GPUs
	if err != nil {
		return err
	}
	most := max(4, min(8, 2*node.GPUs)) // workers of a trial: beyond the cores, where the curve bends
	values := map[string]any{"MOST": most, "BATCH": 256 * most, "SECONDS": q.trialSeconds, "TRIALS": q.trials, "SEED": q.seed,
		"HOST": node.Name, "CORES": node.GPUs, "SLOTS": 2 * node.GPUs, "PRICE": 0.05 * 2 * float64(node.GPUs)}
	files, err := filesOf(quickFiles, "quickstart")
	if err != nil {
		return err
	}
	for i, f := range files {
		files[i].Data = []byte(os.Expand(string(f.Data), func(name string) string { return fmt.Sprint(values[name]) }))
	}
	if err := saveFiles(q.dir, files, io.Discard); err != nil {
		return err
	}
	q.jobs = []*quickJob{
		{Name: "vision", About: "much arithmetic, few parameters, averaged by all-reduce"},
		{Name: "language", About: "little arithmetic, many parameters, kept by parameter servers"},
	}
	for _, j := range q.jobs {
		if j.study, err = data.Load(q.path(j.Name+".yaml"), data.ReadStudy); err != nil {
			return err
		}
	}
	return nil
}

func (q *quickstart) measure(ctx context.Context) error {
	_, err := os.Stat(q.path("summary.txt"))
	finished := err == nil
	for _, j := range q.jobs {
		q.say("Measuring %s (%s): %d configurations of this machine, chosen one by one", j.Name, j.About, q.trials)
		if j.Result, err = q.app.measure(ctx, j.study, profile.FilesBeside(q.path(j.Name+".yaml"), ""), profile.Settings{Restart: finished}); err != nil {
			return err
		}
		if j.Result.Drained {
			return fmt.Errorf("%w: run knee quickstart again to continue", errInterrupted)
		}
		q.app.note("%s", j.Result.Stopped)
	}
	return nil
}

func (q *quickstart) model(context.Context) error {
	q.say("Fitting")
	for _, j := range q.jobs {
		m, err := fit.Fit(j.Result.Measurements, fit.Settings{Seed: q.seed})
		if err != nil {
			return fmt.Errorf("fit %s: %w", j.Name, err)
		}
		if err := m.AddCurve(j.Result.Curves, j.study.Batch, convergence.Settings{}); err != nil {
			q.app.warn(fmt.Sprintf("%s: %v", j.Name, err))
		}
		if err := fit.WriteModel(q.path(j.Name+".model.json"), m); err != nil {
			return err
		}
		for _, w := range m.Warnings() {
			q.app.warn(j.Name + ": " + w)
		}
		j.predictor = &predict.Predictor{Model: m, Batch: j.study.Batch, Price: j.study.PricePerHour}
		if err := j.predict(); err != nil {
			return fmt.Errorf("predict %s: %w", j.Name, err)
		}
	}
	return nil
}

// predict finds the best candidate of a job, its curve and the knee of that.
func (j *quickJob) predict() error {
	candidates, err := space.Candidates(j.study)
	if err != nil {
		return err
	}
	if j.Best, err = predict.Best(j.predictor, candidates, predict.Limits{Inside: true}); err != nil {
		return err
	}
	// The most promising of those never measured puts the model to the test.
	_, measured := grouped.By(j.Result.Measurements, data.Measurement.Key)
	unmeasured := slices.DeleteFunc(slices.Clone(candidates), func(c data.Config) bool { return measured[c.Key()] != nil })
	if j.Checked, err = predict.Best(j.predictor, unmeasured, predict.Limits{Inside: true}); err != nil {
		return err
	}
	// Beyond the study's sizes the curve may bend in ways that smaller ones do not show.
	workers := list.Map(candidates, func(c data.Config) int { return c.Workers })
	j.workers = slices.Compact(slices.Sorted(slices.Values(workers)))
	// As in the report: of the knees at each batch the fastest.
	base := j.Best.Config
	batches, _ := j.predictor.Model.LocalBatches(base.GPUType, base.Mode)
	for _, base.LocalBatch = range batches {
		curve, err := predict.Sweep(j.predictor, base, j.workers)
		if err != nil {
			return err
		}
		if knee := curve[max(predict.Knee(curve), 0)]; knee.Goodput.Mean > j.Knee.Goodput.Mean {
			j.Knee = knee
		}
	}
	return nil
}

// checkPredictions measures what was only predicted, and the first trial again, for noise.
func (q *quickstart) checkPredictions(ctx context.Context) error {
	for _, j := range q.jobs {
		q.say("Checking %s: %s was not measured; the model says %s per step", j.Name, j.Checked.Config, between(j.Checked.StepTime, seconds))
		files := profile.FilesBeside(q.path(j.Name+"-check.yaml"), "")
		res, err := q.app.measure(ctx, j.study, files, profile.Settings{Restart: true, Only: []data.Config{j.Checked.Config, j.Result.Measurements[0].Config}})
		if err != nil {
			return err
		}
		if len(res.Measurements) == 0 {
			return fmt.Errorf("%w: run knee quickstart again to continue", errInterrupted)
		}
		j.Check, j.Again = res.Measurements[0], res.Measurements[len(res.Measurements)-1]
		if len(res.Measurements) == 1 || j.First().Status != data.OK || j.Again.Status != data.OK {
			j.Again = data.Measurement{}
		}
	}
	return nil
}

func (q *quickstart) share(context.Context) error {
	q.say("Sharing this machine")
	problem, err := plan.Load(q.path("cluster.yaml"), q.path("jobs.yaml"))
	if err != nil {
		return err
	}
	problem.Seed = q.seed
	if q.plan, err = policy.Solve(problem); err != nil {
		return err
	}
	q.totals = plan.TotalsOf(problem, q.plan)
	problem.Policy = "even"
	even, err := policy.Solve(problem)
	if err != nil {
		return err
	}
	q.even = plan.TotalsOf(problem, even)
	return data.WriteFile(q.path("plan.json"), func(w io.Writer) error { return data.WritePlan(w, q.plan) })
}

// show writes exports, figures and the report, as the commands for that do.
func (q *quickstart) show(ctx context.Context) error {
	q.say("Drawing")
	var refused []error
	for _, target := range []string{"slurm", "pytorchjob", "tfjob"} {
		if err := q.knee(ctx, "export", q.path("plan.json"), "--to", target, "-d", q.path(target)); err != nil {
			refused = append(refused, err)
			continue
		}
		q.exports = append(q.exports, target+"/")
	}
	if len(q.exports) == 0 {
		return fmt.Errorf("no exporter could express the plan: %w", errors.Join(refused...))
	}
	var err error
	for _, ext := range []string{".svg", ".png"} {
		for _, j := range q.jobs {
			workers := fmt.Sprintf("%d..%d", j.workers[0], j.workers[len(j.workers)-1])
			err = cmp.Or(err, q.knee(ctx, "plot", "scalability", q.path(j.Name+".model.json"), "--workers", workers, "-f", q.path(j.Name+"-scalability"+ext)))
		}
		err = cmp.Or(err, q.knee(ctx, "plot", "allocation", q.path("plan.json"), "--cluster", q.path("cluster.yaml"), "--title", "This machine, shared", "-f", q.path("allocation"+ext)))
	}
	return cmp.Or(err, q.app.writeReport(ctx, page{files: []string{q.dir}, out: q.path("report.html")}))
}

func (q *quickstart) knee(ctx context.Context, args ...string) error {
	root := newRoot(&app{stdout: io.Discard, stderr: io.Discard})
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

//go:embed quickstart.tmpl
var quickSummary string

// summarize prints the results and writes them to summary.txt.
func (q *quickstart) summarize(context.Context) error {
	config := func(c data.Config) string { // the knobs that the quick start varies
		ps := ""
		if c.PS > 0 {
			ps = fmt.Sprintf(", %d ps", c.PS)
		}
		return english.Plural(c.Workers, "worker", "") + ps + ", batch " + number(c.LocalBatch)
	}
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"seconds": seconds, "config": config,
		"time":   func(e data.Estimate) string { return between(e, seconds) },
		"rate":   func(e data.Estimate) string { return between(e, number) + " samples/s" },
		"change": func(now, then float64) string { return percent(now/then - 1) },
		"planned": func(j data.PlannedJob) string {
			return config(data.Config{Workers: j.Workers, PS: j.PS, LocalBatch: j.LocalBatch})
		},
	}).Parse(quickSummary))
	var b strings.Builder
	finish := q.totals.MeanFinish
	if q.totals.Waiting+q.even.Waiting > 0 {
		finish = 0
	}
	if err := t.Execute(&b, map[string]any{"Jobs": q.jobs, "Plan": q.plan, "Finish": finish, "EvenFinish": q.even.MeanFinish, "Dir": q.dir,
		"Exports": strings.Join(q.exports, ", "), "Took": time.Since(q.begun).Round(time.Second)}); err != nil {
		return err
	}
	if err := data.WriteFile(q.path("summary.txt"), func(w io.Writer) error { _, err := io.WriteString(w, b.String()); return err }); err != nil {
		return err
	}
	q.app.note("")
	_, err := fmt.Fprintln(q.app.stdout, term.Hanging(q.app.stdout, strings.TrimSuffix(b.String(), "\n")))
	return err
}

// Measured counts the trials that gave a measurement.
func (j *quickJob) Measured() int {
	return list.Count(j.Result.Measurements, func(m data.Measurement) bool { return m.Status == data.OK })
}

// Inside reports whether the check lies in the interval that was predicted.
func (j *quickJob) Inside() bool {
	return j.Check.StepTime >= j.Checked.StepTime.Lo && j.Check.StepTime <= j.Checked.StepTime.Hi
}

// First is the first trial, and Most the most workers of the study.
func (j *quickJob) First() data.Measurement { return j.Result.Measurements[0] }
func (j *quickJob) Most() int               { return slices.Max(j.workers) }
