package main

import (
	"errors"
	"io"
	"strings"
	"time"

	"knee/allocate/objective"
	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"

	"github.com/spf13/cobra"
)

// cautious is the default of --risk. Of many options with uncertain speeds the
// best-looking one is likely to be overestimated, so a plan made with expected
// speeds disappoints.
const cautious = 0.5

// sharingFlags name a cluster and its jobs, and say how to plan.
type sharingFlags struct {
	cluster, jobs, objective, policy string
	risk                             float64
}

type allocateFlags struct {
	sharingFlags
	plan, sizes          string
	seed                 int64
	hysteresis, restart  float64
	apart, strict, curve bool
	prices               bool
	whatIf, explain      []string
}

func newAllocate(a *app) *cobra.Command {
	var f allocateFlags
	var out format
	cmd := &cobra.Command{
		Use:   "allocate --cluster CLUSTER.yaml --jobs JOBS.yaml",
		Short: "Divide a cluster among jobs by marginal gain of predicted goodput",
		Long: `allocate gives each job workers, parameter servers, a GPU type and a batch,
places them on nodes, and says what changes: keep, start, grow, shrink, move,
pause or wait. Each line says why the job got its last GPU and what one more
would bring.

The summary gives the plan's value, a bound that no plan exceeds, and the gap.
Write the plan with --plan for knee export and knee apply.

Every policy's plan is valued under --objective. A policy refuses a job without
a field that it needs (tenant, submitted, requested, history), and names it.

A job that cannot be planned is left as it is and the others are planned around
it; with --strict that is an error. --explain says everything about one job.

--what-if plans again with a change, each beside the plan as things are:
  '+2 a100'         two more nodes like the first of that type
  '-1 a100'         one fewer of them
  '-a100'           none of that type
  '-n[01-02]'       without these nodes
  '-job NAME'       without a job
  '+jobs FILE'      with the jobs of another jobs.yaml
  '+nodes FILE'     with the nodes of another cluster.yaml
--curve plans for a quarter to twice the nodes of each type.`,
		Example: `  knee allocate --cluster cluster.yaml --jobs jobs.yaml
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --plan plan.json
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --policy even -o json
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --what-if '+1 a100' --what-if '-n1'
  knee allocate --cluster cluster.yaml --jobs jobs.yaml --curve -o csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			problem, err := f.problem(cmd)
			if err != nil {
				return err
			}
			switch {
			case f.prices:
				err = a.allocatePrices(problem, out)
			case f.curve:
				err = a.allocateCurve(problem, out)
			case len(f.whatIf) > 0:
				err = a.allocateWhatIf(problem, f, out)
			default:
				err = a.allocatePlan(problem, f, out)
			}
			var none *plan.Infeasible
			if errors.As(err, &none) {
				return exitError{err, exitInfeasible}
			}
			return err
		},
	}
	f.add(cmd)
	formatFlag(cmd, &out)
	return cmd
}

func (f *allocateFlags) add(cmd *cobra.Command) {
	f.addShared(cmd)
	fl := cmd.Flags()
	fl.Float64Var(&f.hysteresis, "hysteresis", 0, "least gain of changing a running job, in seconds beyond its restart")
	fl.Float64Var(&f.restart, "restart-seconds", 0, "cost of a restart (default: as in jobs.yaml)")
	fl.StringVar(&f.sizes, "sizes", "all", "numbers of workers: all, pow2, nodes (powers of two, then whole nodes)")
	fl.BoolVar(&f.apart, "apart", false, "no node is shared by two jobs that span nodes")
	fl.BoolVar(&f.strict, "strict", false, "fail if a job cannot be planned")
	fl.StringArrayVar(&f.explain, "explain", nil, "job to explain; may be repeated")
	fl.BoolVar(&f.prices, "prices", false, "value of one more GPU, and of each job")
	fl.StringArrayVar(&f.whatIf, "what-if", nil, "change, such as '+2 a100'; may be repeated")
	fl.BoolVar(&f.curve, "curve", false, "value against the number of nodes of each type")
	fl.StringVar(&f.plan, "plan", "", "file for the plan")
	fl.Int64Var(&f.seed, "seed", 1, "seed recorded in the plan")
	cmd.MarkFlagsMutuallyExclusive("what-if", "curve", "plan", "prices")
	cmd.MarkFlagsMutuallyExclusive("what-if", "curve", "explain", "prices")
	completes(cmd, "sizes", plan.SizeSets())
}

// addShared adds the flags that the figures of a plan have too.
func (f *sharingFlags) addShared(cmd *cobra.Command) {
	requiredYAML(cmd, &f.cluster, "cluster")
	requiredYAML(cmd, &f.jobs, "jobs")
	fl := cmd.Flags()
	fl.StringVar(&f.objective, "objective", "", "objective: "+strings.Join(objective.Names(), ", ")+" (default "+objective.Default+")")
	fl.StringVar(&f.policy, "policy", policy.Default, "policy: "+strings.Join(policy.Names(), ", "))
	fl.Float64Var(&f.risk, "risk", cautious, "0: expected speeds, 1: low ends of their intervals")
	completes(cmd, "objective", objective.Names())
	completes(cmd, "policy", policy.Names())
}

// requiredYAML adds a required flag that names NAME.yaml.
func requiredYAML(cmd *cobra.Command, to *string, name string) {
	cmd.Flags().StringVar(to, name, "", name+".yaml (required)")
	_ = cmd.MarkFlagRequired(name)
	_ = cmd.MarkFlagFilename(name, "yaml", "yml")
}

func (f *sharingFlags) load() (plan.Problem, error) {
	if !(f.risk >= 0 && f.risk <= 1) {
		return plan.Problem{}, usageError("--risk %g: want a number from 0 to 1", f.risk)
	}
	pr, err := plan.Load(f.cluster, f.jobs)
	if err != nil {
		return pr, err
	}
	pr.Objective, pr.Policy, pr.Risk = f.objective, f.policy, f.risk
	return pr, nil
}

func (f *allocateFlags) problem(cmd *cobra.Command) (plan.Problem, error) {
	if !(f.hysteresis >= 0) || !(f.restart >= 0) {
		return plan.Problem{}, usageError("--hysteresis and --restart-seconds: want seconds ≥ 0")
	}
	pr, err := f.load()
	if err != nil {
		return pr, err
	}
	if len(pr.Jobs) == 0 {
		return pr, &data.InputError{Source: data.Source{File: f.jobs, Column: "jobs"}, Found: "no jobs", Want: "at least one to plan for"}
	}
	pr.Seed, pr.Now, pr.Hysteresis, pr.Sizes, pr.Apart, pr.Strict = f.seed, time.Now(), f.hysteresis, f.sizes, f.apart, f.strict
	if cmd.Flags().Changed("restart-seconds") {
		for i := range pr.Jobs {
			pr.Jobs[i].RestartSeconds = f.restart
		}
	}
	return pr, nil
}

func (a *app) allocatePlan(pr plan.Problem, f allocateFlags, out format) error {
	plan, err := policy.Solve(pr)
	if err != nil {
		return err
	}
	if f.plan != "" {
		if err := data.WriteFile(f.plan, func(w io.Writer) error { return data.WritePlan(w, plan) }); err != nil {
			return err
		}
	}
	if out == "json" {
		return data.WritePlan(a.stdout, plan)
	}
	if len(f.explain) > 0 {
		return a.explain(plan, f.explain, out)
	}
	a.warn(plan.Warnings...)
	if err := out.print(a.stdout, plan, planTable(pr, plan, out)); err != nil {
		return err
	}
	a.note("%s", planSummary(plan))
	a.note("%s", planTotals(pr, plan))
	return nil
}
