package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/internal/term"
	"knee/plots"
	"knee/predict"
	"knee/profile"
	"knee/profile/space"
)

func newQuickstart(a *app) *cobra.Command {
	q := quickstart{app: a, trials: 8, trialSeconds: 2}
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Measure, model and share two real training jobs on this machine, in about a minute",
		Long: `quickstart trains two small models with real processes on this machine, measures
configurations chosen one by one, fits their speed, checks a prediction by
measuring it, divides this machine between the two jobs, and writes plan,
exports, figures and a report to a folder.

Run it again to continue after an interrupt; a finished one begins anew.`,
		Example: "  knee quickstart\n  knee quickstart --dir /tmp/quick --trials 6",
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.run(cmd.Context()) },
	}
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
	even    *data.Plan
	exports []string
}

// quickJob is one of the two jobs and its results so far.
type quickJob struct {
	name, about string
	study       *data.Study
	result      profile.Result
	predictor   *predict.Predictor
	workers     []int // of the study, ascending
	knee        predict.Answer
	best        predict.Answer   // the best of all candidates
	checked     predict.Answer   // predicted, and not measured before
	check       data.Measurement // its measurement
	again       float64          // step time of the first trial measured again, over the first; 0 if it failed
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
	folder, err := fs.Sub(quickFiles, "quickstart")
	if err != nil {
		return err
	}
	files, err := filesOf(folder)
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
		{name: "vision", about: "much arithmetic, few parameters, averaged by all-reduce"},
		{name: "language", about: "little arithmetic, many parameters, kept by parameter servers"},
	}
	for _, j := range q.jobs {
		if j.study, err = data.LoadStudy(q.path(j.name + ".yaml")); err != nil {
			return err
		}
	}
	return nil
}

func (q *quickstart) measure(ctx context.Context) error {
	_, err := os.Stat(q.path("summary.txt"))
	finished := err == nil
	for _, j := range q.jobs {
		q.say("Measuring %s (%s): %d configurations of this machine, chosen one by one", j.name, j.about, q.trials)
		if j.result, err = q.app.measure(ctx, j.study, profile.FilesBeside(q.path(j.name+".yaml"), ""), profile.Settings{Restart: finished}); err != nil {
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
		m, err := fit.Fit(j.result.Measurements, fit.Settings{Seed: q.seed})
		if err != nil {
			return fmt.Errorf("fit %s: %w", j.name, err)
		}
		if err := m.AddCurve(j.result.Curves, j.study.Batch, convergence.Settings{}); err != nil {
			q.app.warn(fmt.Sprintf("%s: %v", j.name, err))
		}
		if err := fit.WriteModel(q.path(j.name+".model.json"), m); err != nil {
			return err
		}
		for _, w := range m.Warnings() {
			q.app.warn(j.name + ": " + w)
		}
		j.predictor = &predict.Predictor{Model: m, Batch: j.study.Batch, Price: j.study.PricePerHour}
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
	// Only sizes of the study: beyond the cores the curve bends in ways that
	// smaller sizes do not show.
	for _, c := range candidates {
		j.workers = append(j.workers, c.Workers)
	}
	slices.Sort(j.workers)
	j.workers = slices.Compact(j.workers)
	curve, err := predict.Sweep(j.predictor, j.best.Config, j.workers)
	if err != nil {
		return err
	}
	j.knee = curve[max(predict.Knee(curve), 0)]
	return nil
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

// share divides this machine between the jobs.
func (q *quickstart) share(context.Context) error {
	q.say("Sharing this machine")
	problem, err := plan.Load(q.path("cluster.yaml"), q.path("jobs.yaml"))
	if err != nil {
		return err
	}
	problem.Seed, problem.Risk = q.seed, cautious
	if q.plan, err = policy.Solve(problem); err != nil {
		return err
	}
	problem.Policy = "even"
	if q.even, err = policy.Solve(problem); err != nil {
		return err
	}
	return data.WriteFile(q.path("plan.json"), func(w io.Writer) error { return data.WritePlan(w, q.plan) })
}

// show writes the plan for the schedulers that can express it, the figures and the
// report, as the commands for that do.
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
			err = cmp.Or(err, q.knee(ctx, "plot", "scalability", q.path(j.name+".model.json"), "--workers", workers, "-f", q.path(j.name+"-scalability"+ext)))
		}
		err = cmp.Or(err, q.knee(ctx, "plot", "allocation", q.path("plan.json"), "--cluster", q.path("cluster.yaml"), "--title", "This machine, shared", "-f", q.path("allocation"+ext)))
	}
	return cmp.Or(err, q.app.writeReport(ctx, page{files: []string{q.dir}, out: q.path("report.html")}))
}

// knee runs a command, whose output is not shown.
func (q *quickstart) knee(ctx context.Context, args ...string) error {
	root := newRoot(&app{stdout: io.Discard, stderr: io.Discard})
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// summarize prints the results and writes them to summary.txt.
func (q *quickstart) summarize(context.Context) error {
	var b strings.Builder
	for _, j := range q.jobs {
		q.summarizeJob(&b, j)
	}
	q.summarizePlan(&b)
	q.summarizeFiles(&b)
	text := b.String()
	if err := data.WriteFile(q.path("summary.txt"), func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	q.app.note("")
	_, err := fmt.Fprintln(q.app.stdout, term.Hanging(q.app.stdout, strings.TrimSuffix(text, "\n")))
	return err
}

func (q *quickstart) summarizeJob(b *strings.Builder, j *quickJob) {
	ok := 0
	for _, m := range j.result.Measurements {
		if m.Status == data.OK {
			ok++
		}
	}
	fmt.Fprintf(b, "%s: %s; %d of %d trials measured\n", j.name, j.about, ok, len(j.result.Measurements))
	k, last := j.knee, j.workers[len(j.workers)-1]
	beyond := ""
	if k.Config.Workers == last {
		beyond = ", the most looked at"
	}
	fmt.Fprintf(b, "  knee     %s%s: goodput %s samples/s\n", shortConfig(k.Config), beyond, between(k.Goodput, number))
	if j.best.Config.Key() != k.Config.Key() {
		fmt.Fprintf(b, "  fastest  %s: goodput %s samples/s\n", shortConfig(j.best.Config), between(j.best.Goodput, number))
	}
	if j.check.Status != data.OK {
		fmt.Fprintf(b, "  check    %s could not be measured: %s: %s\n", shortConfig(j.checked.Config), j.check.Status, j.check.Error)
		return
	}
	inside := "inside"
	if j.check.StepTime < j.checked.StepTime.Lo || j.check.StepTime > j.checked.StepTime.Hi {
		inside = "outside"
	}
	fmt.Fprintf(b, "  check    %s, unmeasured: predicted %s per step,\n           then measured %s (%s, %s the 90 %% interval)\n",
		shortConfig(j.checked.Config), between(j.checked.StepTime, seconds), seconds(j.check.StepTime), percent(j.check.StepTime/j.checked.StepTime.Mean-1), inside)
	if j.again > 0 {
		fmt.Fprintf(b, "           the machine itself: trial 1 measured again, %s\n", percent(j.again-1))
	}
}

// shortConfig names the knobs that the quick start varies.
func shortConfig(c data.Config) string {
	s := plots.Counted(c.Workers, "worker")
	if c.PS > 0 {
		s += fmt.Sprintf(", %d ps", c.PS)
	}
	return s + ", batch " + number(c.LocalBatch)
}

func (q *quickstart) summarizePlan(b *strings.Builder) {
	fmt.Fprintf(b, "plan for this machine (%d worker slots)\n", q.plan.Utilization.GPUsTotal)
	for _, j := range q.plan.Jobs {
		if j.Action == data.Pause {
			fmt.Fprintf(b, "  %-8s waits: %s\n", j.Name, j.Reason)
			continue
		}
		fmt.Fprintf(b, "  %-8s %s: goodput %s samples/s, done in %s\n", j.Name,
			shortConfig(data.Config{Workers: j.Workers, PS: j.PS, LocalBatch: j.LocalBatch}), between(j.Goodput, number), seconds(j.Finish.Mean))
	}
	fmt.Fprintf(b, "  against an even split: %s\n", q.gain())
}

// gain compares the mean completion time of the plan with that of an even split.
func (q *quickstart) gain() string {
	mine, even := meanFinish(q.plan), meanFinish(q.even)
	if !(mine > 0) || !(even > 0) {
		return "the even split cannot finish both jobs"
	}
	return fmt.Sprintf("mean completion %s instead of %s (%s)", seconds(mine), seconds(even), percent(mine/even-1))
}

// meanFinish is the mean predicted completion time in seconds, NaN if some job waits.
func meanFinish(p *data.Plan) float64 {
	var finish []float64
	for _, j := range p.Jobs {
		if !(j.Finish.Mean > 0) {
			return math.NaN()
		}
		finish = append(finish, j.Finish.Mean)
	}
	return stat.Mean(finish, nil)
}

func (q *quickstart) summarizeFiles(b *strings.Builder) {
	first := q.jobs[0].name
	fmt.Fprintf(b, `look at %s (all of this in figures and tables)
  plan.json, and as a scheduler takes it: %s
try next
  knee predict %s --workers 1..16
  knee init my-job       # a study of your own training script
took %s
`, q.path("report.html"), strings.Join(q.exports, ", "), q.path(first+".model.json"), time.Since(q.begun).Round(time.Second))
}
