package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/compare"
	"knee/data"
)

// simulateFlags are the inputs of knee simulate.
type simulateFlags struct {
	cluster, profiles, models, measurements, service, packed string
	jobsOut, usageOut, tenantsOut, scaling                   string
	workloads                                                []string
	loads, sizes                                             []float64
	oracle                                                   bool
	compare.Settings
}

const simulateLong = `simulate replays a workload on a cluster, once for every policy, and compares
completion times, utilisation and fairness.

With --profiles, jobs advance as their application was measured to: step times
from DIR/allreduce, training runs from DIR/training. Policies do not see these
tables; they see models fitted, job by job, to what the job itself has run so
far, and the earlier jobs of its application unless --alone. With --models, policies see the models of knee fit in DIR, and jobs advance
in a world drawn from their posterior (--seed chooses which), so that a policy
meets the error its models admit. --measurements fits the models first; what was
measured is then true. With both, jobs run only what was measured, at the size
and layout that a policy chooses together, and policies see the models, or with
--oracle what was measured. With none of them a job runs for the duration the
workload records, on the GPUs it asks for.

Workloads of Pollux, Sia, Tiresias, Gavel, Philly and Alibaba, and any CSV with a
column submit_s, are told apart by how they begin. Columns elastic (true or
false), workers_min and workers_max say what a policy may do with a job; status,
ends_at, declared and cancel_after_s that it fails, is cancelled or never
converges. --survival weighs the work a job declared by how far earlier jobs
came. --semantics pollux and tiresias follow the simulators published with those
papers to the second.

ftf is finish-time fairness: completion time over what an equal share of the
cluster, had alone, would have taken. Above 1 a job would rather have had its
share; worse_than_share is how many would. slowdown is completion time over that
alone on the GPUs asked for.

wall_s and decision_mean_ms, decision_p99_ms (what the policy took to answer, per
decision) are measured, and differ from run to run; the rest does not.`

const simulateExample = `  knee simulate --cluster cluster.yaml --workload workload.csv --policy fifo,srtf
  knee simulate --cluster cluster.yaml --workload workload-1.csv --profiles bench --semantics pollux --policy knee,tiresias,optimus
  knee simulate --cluster cluster.yaml --workload w.csv --models models --policy knee,sia,fifo
  knee simulate --cluster cluster.yaml --workload w.csv --policy srtf --load 0.5,1,2 --jobs-out jobs.csv -o csv
  knee simulate generate --jobs 160 --seed 1 > workload.csv`

// What a change of size costs a job.
const (
	stopResume = "stop-resume"
	stopFree   = "stop-free"
)

func newSimulate(a *app) *cobra.Command {
	var in simulateFlags
	var out format
	cmd := &cobra.Command{
		Use:     "simulate --cluster CLUSTER.yaml --workload W.csv [--profiles DIR | --models DIR] --policy NAME,NAME",
		Short:   "Replay a workload under several policies and compare them",
		Long:    simulateLong,
		Example: simulateExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := in.load(cmd.Context(), a); err != nil {
				return err
			}
			bar := a.progress()
			in.Progress = func(share float64) { bar.At(int(1000*share), 1000, "replaying") }
			in.Usage = in.usageOut != ""
			rows, err := compare.Run(cmd.Context(), in.Settings)
			bar.Close()
			if err != nil {
				return err
			}
			if err := in.writeDetails(rows); err != nil {
				return err
			}
			return out.print(a.stdout, rows, simulationTable(rows))
		},
	}
	in.flags(cmd)
	formatFlag(cmd, &out)
	cmd.AddCommand(newSimulateGenerate(a))
	return cmd
}

func (in *simulateFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.cluster, "cluster", "", "the cluster (cluster.yaml, or a cluster CSV of Tiresias)")
	f.StringSliceVar(&in.workloads, "workload", nil, "workloads to replay (CSV)")
	f.StringVar(&in.profiles, "profiles", "", "folder of measured profiles: allreduce/ and training/")
	f.StringVar(&in.models, "models", "", "folder of fitted models, *.json, one of each application")
	f.StringVar(&in.measurements, "measurements", "", "measurements of all applications, to fit models to (CSV)")
	f.StringVar(&in.packed, "packed", "", "measured speeds of two jobs on the same GPUs, by which gavel-* share them (CSV, native)")
	f.BoolVar(&in.oracle, "oracle", false, "tell policies the measured speeds in place of what the models predict (models and measurements)")
	f.BoolVar(&in.Survival, "survival", false, "weigh declared work by how far jobs that ended came (native)")
	f.BoolVar(&in.Alone, "alone", false, "models of a job forget what earlier jobs of its application showed (native and pollux)")
	f.StringSliceVar(&in.Policies, "policy", nil, "policies to compare: "+strings.Join(policy.Names(), ", "))
	f.StringVar(&in.Semantics, "semantics", compare.Native, "rules of the replay: "+strings.Join(compare.AllSemantics(), ", "))
	f.StringVar(&in.jobsOut, "jobs-out", "", "also write a row per job here (CSV)")
	f.StringVar(&in.usageOut, "usage-out", "", "also write the GPUs in use and the jobs waiting over time here (CSV)")
	f.StringVar(&in.tenantsOut, "tenants-out", "", "also write a row per tenant here (CSV)")
	f.Float64SliceVar(&in.loads, "load", []float64{1}, "how many times as fast jobs arrive, a sweep if several")
	f.Float64SliceVar(&in.sizes, "size", []float64{1}, "how many times as many nodes there are, a sweep if several")
	f.Int64Var(&in.Seed, "seed", 1, "seed of policies, failures and worlds that are drawn")
	f.IntVar(&in.Parallel, "parallel", runtime.NumCPU(), "replays at a time")
	f.Float64Var(&in.Interval, "interval", 0, "seconds between decisions; 0 decides at every arrival and completion, or every minute with --profiles (native)")
	f.Float64Var(&in.Restart, "restart", 0, "seconds without progress after a job starts or changes (native); 0 takes the start that the models measured, else 30 with profiles or models")
	f.StringVar(&in.scaling, "scaling", stopResume, "what a change of size costs a job: "+stopResume+" restarts it, "+stopFree+" costs --rescale-seconds where its processes stay on their nodes (native)")
	f.Float64Var(&in.Rescale, "rescale-seconds", 1, "seconds without progress where a job grows or shrinks under --scaling stop-free")
	f.Float64Var(&in.NodeMTBF, "node-mtbf", 0, "mean seconds between failures of a node, 0 for none (native)")
	f.Float64Var(&in.NodeRepair, "node-repair", 3600, "seconds until a failed node is back (native)")
	f.Float64Var(&in.CheckpointEvery, "checkpoint-every", 600, "seconds of work a failure costs at most (native)")
	f.StringVar(&in.service, "service-times", "", "CSV with a column duration: GPU-seconds jobs need, for the Gittins index (tiresias)")
	for _, name := range []string{"cluster", "workload", "policy"} {
		_ = cmd.MarkFlagRequired(name)
	}
	_ = cmd.MarkFlagFilename("cluster", "yaml", "yml", "csv")
	_ = cmd.MarkFlagFilename("workload", "csv", "gz")
	_ = cmd.MarkFlagDirname("profiles")
	_ = cmd.MarkFlagDirname("models")
	cmd.MarkFlagsMutuallyExclusive("profiles", "models")
	cmd.MarkFlagsMutuallyExclusive("profiles", "measurements")
	completesList(cmd, "policy", policy.Names())
	completes(cmd, "semantics", compare.AllSemantics())
}

// writeDetails writes the files of single jobs and of what was in use, where
// they were asked for.
func (in *simulateFlags) writeDetails(rows []compare.Row) error {
	var jobs []simulate.Replayed
	var used []simulate.Used
	for i, r := range rows {
		slots := in.Cases[i/len(in.Policies)].Cluster.Slots() // rows are by case, then policy
		jobs = append(jobs, simulate.Replayed{Policy: r.Policy, Workload: r.Workload, Outcomes: r.Outcomes})
		used = append(used, simulate.Used{Policy: r.Policy, Workload: r.Workload, GPUs: slots, History: r.Usage})
	}
	for _, out := range []struct {
		file  string
		write func(io.Writer) error
	}{
		{in.jobsOut, func(w io.Writer) error { return simulate.WriteJobs(w, jobs) }},
		{in.tenantsOut, func(w io.Writer) error { return writeTenants(w, rows) }},
		{in.usageOut, func(w io.Writer) error { return simulate.WriteUsage(w, used) }},
	} {
		if out.file == "" {
			continue
		}
		if err := data.WriteFile(out.file, out.write); err != nil {
			return err
		}
	}
	return nil
}

// writeTenants writes a row per tenant of every run.
func writeTenants(w io.Writer, rows []compare.Row) error {
	var lines [][]string
	for _, r := range rows {
		for _, t := range r.Tenants {
			lines = append(lines, []string{r.Policy, r.Workload, t.Name, strconv.Itoa(t.Jobs), simulate.Exact(t.GPUHours), simulate.Exact(t.JCTMean),
				simulate.Exact(t.FTFMean), simulate.Exact(t.SlowdownMean), simulate.Exact(t.Worse)})
		}
	}
	return simulate.WriteRows(w, "tenants", []string{"policy", "workload", "tenant", "jobs", "gpu_hours", "jct_mean_s", "ftf_mean", "slowdown_mean", "worse_than_share"}, lines)
}

// simulationColumns are those of the results as CSV.
const simulationColumns = "policy,workload,jobs,jct_mean_s,jct_median_s,jct_p99_s,makespan_s,gpu_hours,utilization,restarts,ftf_mean,ftf_p99,wall_s,queue_mean_s,decision_mean_ms,decision_p99_ms,slowdown_mean,slowdown_p99,worse_than_share,useful_jobs,wasted_gpu_hours"

func simulationTable(rows []compare.Row) table {
	t := table{columns: strings.Split(simulationColumns, ",")}
	t.people = &table{columns: []string{"policy", "jct_mean", "median", "p99", "queue", "makespan", "in_use", "restarts", "ftf", "worse"}}
	for _, r := range rows {
		t.people.addUnder(fmt.Sprintf("%s, %d jobs", r.Workload, r.Jobs), r.Policy, seconds(r.JCTMean), seconds(r.JCTMedian), seconds(r.JCTP99),
			seconds(r.QueueMean), seconds(r.Makespan), fmt.Sprintf("%.0f %%", 100*r.Utilization), fmt.Sprint(r.Restarts), number(r.FTFMean), fmt.Sprintf("%.0f %%", 100*r.Worse))
		t.add(r.Policy, r.Workload, fmt.Sprint(r.Jobs), exact(r.JCTMean), exact(r.JCTMedian), exact(r.JCTP99), exact(r.Makespan),
			exact(r.GPUHours), exact(r.Utilization), fmt.Sprint(r.Restarts), exact(r.FTFMean), exact(r.FTFP99), exact(r.Wall),
			exact(r.QueueMean), exact(r.DecisionMean), exact(r.DecisionP99),
			exact(r.SlowdownMean), exact(r.SlowdownP99), exact(r.Worse), fmt.Sprint(r.Useful), exact(r.Wasted))
	}
	return t
}
