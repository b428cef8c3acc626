package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/allocate/check"
	"knee/data"
	"knee/fit"
)

// checkFlags is what knee check is asked.
type checkFlags struct {
	model, gpuType, mode, placement string
	workers, ps, accum              int
	localBatch                      float64
	fail                            []string
}

// findings are what --fail-if can name.
var findings = []string{check.Straggler, check.Silent, "drift"}

func newCheck(a *app) *cobra.Command {
	var f checkFlags
	var out format
	cmd := &cobra.Command{
		Use:   "check STEPS.csv",
		Short: "Name the stragglers of a running job, and drift from its model",
		Long: `check reads the step times of each worker of a running job and names

  straggler   a worker at less than half the median speed of the workers
  silent      a worker not heard of for more than five steps
  drift       with --model: a step time outside the 90 % interval of what was
              predicted; measure again and fit anew before relying on it

STEPS.csv has a row for each step of each worker, with the columns worker,
step_time_s, and optionally step and arrived_s (when its gradient arrived, in
seconds on one clock). Where workers wait for each other their step times are
alike; then only arrived_s with step tells the straggler from those it holds
up.`,
		Example: `  knee check steps.csv
  knee check steps.csv --model resnet.json --placement 4-4 --local-batch 64
  knee check steps.csv --fail-if straggler,silent`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, name := range f.fail {
				if !slices.Contains(findings, name) {
					return usageError{fmt.Errorf("--fail-if %q: want %s", name, strings.Join(findings, ", "))}
				}
			}
			res, err := f.run(a, args[0])
			if err != nil {
				return err
			}
			if err := out.print(a.stdout, res, res.table(out)); err != nil {
				return err
			}
			return f.found(res)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.model, "model", "", "the job's model, as knee fit writes it")
	fl.StringVar(&f.gpuType, "gpu-type", "", "what it runs on: GPU type (default: the model's, if it has one)")
	fl.StringVar(&f.mode, "mode", "", "allreduce, ps-sync or ps-async (default: the model's, if it has one)")
	fl.StringVar(&f.placement, "placement", "", "workers per node, such as 4-4")
	fl.IntVar(&f.workers, "workers", 0, "workers (default: as many as STEPS.csv has)")
	fl.IntVar(&f.ps, "ps", 0, "parameter servers")
	fl.Float64Var(&f.localBatch, "local-batch", 0, "samples per worker (default: the model's, if it has one)")
	fl.IntVar(&f.accum, "accum-steps", 0, "extra gradient-accumulation steps")
	fl.StringSliceVar(&f.fail, "fail-if", nil, "exit with 3 if there is any of: "+strings.Join(findings, ", "))
	cmd.MarkFlagsMutuallyExclusive("placement", "workers")
	_ = cmd.MarkFlagFilename("model", "json")
	formatFlag(cmd, &out)
	return cmd
}

// checkResult is what check prints.
type checkResult struct {
	Workers []check.Worker `json:"workers"`
	Drift   *check.Drift   `json:"drift,omitempty"`
	Config  *data.Config   `json:"config,omitempty"`
}

func (f checkFlags) run(a *app, file string) (checkResult, error) {
	steps, warnings, err := check.Load(file)
	if err != nil {
		return checkResult{}, err
	}
	a.warn(warnings...)
	res := checkResult{Workers: check.Workers(steps)}
	if f.model == "" {
		return res, nil
	}
	m, err := fit.ReadModel(f.model)
	if err != nil {
		return res, err
	}
	c, err := f.config(m, len(res.Workers))
	if err != nil {
		return res, err
	}
	p, err := m.Predict(c)
	if err != nil {
		return res, fmt.Errorf("%s: %s: %w", f.model, c, err)
	}
	d := check.Compare(steps, c.ModeOrDefault(), p.StepTime)
	res.Drift, res.Config = &d, &c
	verdict := "as predicted"
	if d.Refit {
		verdict = "outside the interval: measure again and fit anew"
	}
	a.note("%s steps in %s, predicted %s, %s: %s", c, seconds(d.Measured), between(d.Predicted, seconds), percent(d.Change), verdict)
	return res, nil
}

// config is what the job runs on.
func (f checkFlags) config(m *fit.Model, workers int) (data.Config, error) {
	c := data.Config{GPUType: f.gpuType, Workers: workers, PS: f.ps, LocalBatch: f.localBatch, AccumSteps: f.accum}
	if f.workers != 0 {
		c.Workers = f.workers
	}
	if f.placement != "" {
		p, err := data.ParsePlacement(f.placement)
		if err != nil {
			return c, usageError{fmt.Errorf("--placement: %w", err)}
		}
		c.Placement, c.Nodes, c.Workers = p, len(p), p.Workers()
	}
	if f.mode != "" {
		mode, err := data.ParseMode(f.mode)
		if err != nil {
			return c, usageError{err}
		}
		c.Mode = mode
	}
	if f.workers < 0 || f.ps < 0 || f.accum < 0 || f.localBatch < 0 {
		return c, usageError{errors.New("--workers, --ps, --accum-steps and --local-batch: want numbers ≥ 0")}
	}
	c, err := m.Resolve(c)
	if err != nil {
		return c, fmt.Errorf("%s: %w", f.model, err)
	}
	return c, nil
}

func (r checkResult) table(f format) table {
	write := f.figures()
	t := table{columns: []string{"worker", "steps", "step_time_s", "speed", "longest_gap_s", "behind_steps", "verdict"}}
	for _, w := range r.Workers {
		t.add(w.Name, fmt.Sprint(w.Steps), write(w.StepTime), write(w.Speed), write(w.Gap), write(w.Behind), w.Verdict)
	}
	return t
}

// found returns a thresholdError that names what --fail-if asks about.
func (f checkFlags) found(r checkResult) error {
	var all []error
	for _, w := range r.Workers {
		if slices.Contains(f.fail, w.Verdict) {
			all = append(all, fmt.Errorf("worker %s is %s: %s of the median speed, %s steps behind", w.Name, w.Verdict, number(w.Speed), number(w.Behind)))
		}
	}
	if slices.Contains(f.fail, "drift") && r.Drift != nil && r.Drift.Refit {
		all = append(all, fmt.Errorf("drift: a step takes %s, predicted %s", seconds(r.Drift.Measured), between(r.Drift.Predicted, seconds)))
	}
	if len(all) == 0 {
		return nil
	}
	return thresholdError{errors.Join(all...)}
}
