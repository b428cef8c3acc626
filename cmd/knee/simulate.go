package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/compare"
	"knee/allocate/simulate/measured"
	"knee/allocate/simulate/modelled"
	"knee/allocate/simulate/tiresias"
	"knee/data"
	"knee/fit/interference"
	"knee/internal/list"
)

type simulateFlags struct {
	cluster, profiles, models, measurements, service, packed string
	jobsOut, usageOut, tenantsOut, scaling                   string
	workloads                                                []string
	loads                                                    []float64
	oracle                                                   bool
	seeds                                                    int
	compare.Settings
}

// stopFree is the scaling of jobs that change their size without a restart.
const stopFree = "stop-free"

func newSimulate(a *app) *cobra.Command {
	var in simulateFlags
	const use = "simulate --cluster CLUSTER.yaml --workload W.csv [--profiles DIR | --models DIR] --policy NAME,NAME"
	cmd := answering(use, func(cmd *cobra.Command, _ []string, out format) error {
		for _, name := range []string{"interval", "restart", "node-mtbf", "node-repair", "checkpoint-every", "survival"} {
			if in.Semantics != compare.Native && cmd.Flags().Changed(name) {
				return usageError("--%s with --semantics %s: published rules have their own; leave it out, or take --semantics %s", name, in.Semantics, compare.Native)
			}
		}
		for _, flag := range []struct {
			name    string
			applies bool
			with    string
		}{
			{"service-times", in.Semantics == compare.Tiresias, "--semantics tiresias"},
			{"alone", in.profiles+in.models+in.measurements != "", "--profiles, --models or --measurements"},
			{"rescale-seconds", in.scaling == stopFree, "--scaling stop-free"},
			{"node-repair", in.NodeMTBF > 0, "--node-mtbf"},
			{"checkpoint-every", in.NodeMTBF > 0, "--node-mtbf"},
		} {
			if cmd.Flags().Changed(flag.name) && !flag.applies {
				return usageError("--%s: it changes nothing without %s", flag.name, flag.with)
			}
		}
		rows, err := in.runs(cmd.Context(), a)
		if err != nil {
			return err
		}
		if err := in.writeDetails(rows); err != nil {
			return err
		}
		if err := out.print(a.stdout, rows, simulationTable(rows, in.seeds)); err != nil || in.seeds == 1 || out != "table" {
			return err
		}
		a.note("means over %d seeds ± their standard deviation; -o csv has every seed", in.seeds)
		return nil
	})
	in.flags(cmd)
	cmd.AddCommand(newSimulateGenerate(a))
	return cmd
}

// runs replays once for every seed; warnings are those of the first.
func (in *simulateFlags) runs(ctx context.Context, a *app) (rows []compare.Row, err error) {
	quiet := *a
	quiet.stderr = io.Discard
	for n := range in.seeds {
		one := *in
		if one.Seed += int64(n); n > 0 {
			err = one.load(ctx, &quiet)
		} else {
			err = one.load(ctx, a)
		}
		if err != nil {
			return nil, err
		}
		bar := a.progress()
		one.Progress = func(share float64) { bar.At(int(1000*(float64(n)+share)), 1000*in.seeds, "replaying") }
		one.Usage = in.usageOut != ""
		more, err := compare.Run(ctx, one.Settings)
		bar.Close()
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (in *simulateFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	fileFlag(cmd, &in.cluster, "cluster", "cluster.yaml", "yaml", "yml", "csv")
	f.StringSliceVar(&in.workloads, "workload", nil, "workloads to replay (CSV)")
	f.StringVar(&in.profiles, "profiles", "", "folder of measured profiles (allreduce/, training/)")
	f.StringVar(&in.models, "models", "", "folder of models, one per application")
	fileFlag(cmd, &in.measurements, "measurements", "measurements of all applications (CSV)", "csv", "gz")
	fileFlag(cmd, &in.packed, "packed", "speeds of pairs of jobs on a GPU (CSV, native); others are predicted", "csv", "gz")
	f.BoolVar(&in.oracle, "oracle", false, "policies know the measured speeds")
	f.BoolVar(&in.Survival, "survival", false, "expect jobs to stop as early as earlier ones did (native)")
	f.BoolVar(&in.Alone, "alone", false, "models forget earlier jobs of the application")
	f.StringSliceVar(&in.Policies, "policy", nil, "policies to compare, as in knee allocate")
	completesList(cmd, "policy", policy.Names())
	named(cmd, &in.Semantics, "semantics", compare.Native, "rules of the replay", compare.AllSemantics())
	f.StringVar(&in.jobsOut, "jobs-out", "", "CSV of jobs to write")
	f.StringVar(&in.usageOut, "usage-out", "", "CSV of GPUs in use to write")
	f.StringVar(&in.tenantsOut, "tenants-out", "", "CSV of tenants to write")
	f.Float64SliceVar(&in.loads, "load", []float64{1}, "factors on the rate of arrival")
	f.Int64Var(&in.Seed, "seed", 1, "seed of random draws")
	in.seeds = 1
	bounded(cmd, &in.seeds, "seeds", "replay with as many seeds, from --seed on", atLeast(1))
	for _, file := range []string{"jobs-out", "usage-out", "tenants-out"} {
		cmd.MarkFlagsMutuallyExclusive("seeds", file)
	}
	in.Parallel = runtime.NumCPU()
	bounded(cmd, &in.Parallel, "parallel", "replays at a time", atLeast(1))
	in.RescaleSeconds, in.NodeRepair, in.Checkpoint = 1, 3600, 600
	bounded(cmd, &in.Interval, "interval", "seconds between decisions (native); 0: at arrivals and completions, with --profiles each minute", data.Seconds())
	bounded(cmd, &in.RestartSeconds, "restart", "seconds lost when a job starts or changes (native); 0: as measured, else 30, where jobs have speeds", data.Seconds())
	oneOf(cmd, &in.scaling, "scaling", "what a change of size costs (native), a restart or --rescale-seconds", "stop-resume", stopFree)
	bounded(cmd, &in.RescaleSeconds, "rescale-seconds", "seconds lost under --scaling stop-free", data.Seconds())
	bounded(cmd, &in.NodeMTBF, "node-mtbf", "mean seconds between failures of a node (native)", data.Seconds())
	bounded(cmd, &in.NodeRepair, "node-repair", "seconds until a failed node is back (native)", data.PositiveSeconds())
	bounded(cmd, &in.Checkpoint, "checkpoint-every", "seconds between checkpoints (native)", data.Seconds())
	f.StringVar(&in.service, "service-times", "", "GPU-seconds of jobs for the Gittins index (CSV, tiresias)")
	required(cmd, "cluster", "workload", "policy")
	_ = cmd.MarkFlagFilename("workload", "csv", "gz")
	_ = cmd.MarkFlagDirname("profiles")
	_ = cmd.MarkFlagDirname("models")
	cmd.MarkFlagsMutuallyExclusive("profiles", "models")
	cmd.MarkFlagsMutuallyExclusive("profiles", "measurements")
}

// writeDetails writes the files of --jobs-out, --usage-out and --tenants-out.
func (in *simulateFlags) writeDetails(rows []compare.Row) error {
	runs := list.Map(rows, func(r compare.Row) simulate.Replayed { return r.Replayed })
	for _, out := range []struct {
		file  string
		write func(io.Writer) error
	}{
		{in.jobsOut, func(w io.Writer) error { return simulate.WriteJobs(w, runs) }},
		{in.tenantsOut, func(w io.Writer) error { return writeTenants(w, rows) }},
		{in.usageOut, func(w io.Writer) error { return simulate.WriteUsage(w, runs) }},
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

func writeTenants(w io.Writer, rows []compare.Row) error {
	type tenantRow struct {
		Policy       string  `csv:"policy"`
		Workload     string  `csv:"workload"`
		Name         string  `csv:"tenant"`
		Jobs         int     `csv:"jobs"`
		GPUHours     float64 `csv:"gpu_hours"`
		JCTMean      float64 `csv:"jct_mean_s"`
		FTFMean      float64 `csv:"ftf_mean"`
		SlowdownMean float64 `csv:"slowdown_mean"`
		Worse        float64 `csv:"worse_than_share"`
	}
	var lines []tenantRow
	for _, r := range rows {
		for _, t := range r.Tenants {
			lines = append(lines, tenantRow{r.Policy, r.Workload, t.Name, t.Jobs, t.GPUHours, t.JCTMean, t.FTFMean, t.SlowdownMean, t.Worse})
		}
	}
	return simulate.WriteRows(w, "tenants", lines)
}

// simulationTable has a row for every replay; for people, one for each policy on a
// workload, with means over seeds and their standard deviation.
func simulationTable(rows []compare.Row, seeds int) *table {
	t := tableOf(rows, "policy,workload,jobs,jct_mean_s,jct_median_s,jct_p99_s,makespan_s,gpu_hours,utilization,restarts,ftf_mean,ftf_p99,wall_s,"+
		"queue_mean_s,decision_mean_ms,decision_p99_ms,slowdown_mean,slowdown_p99,worse_than_share,useful_jobs,wasted_gpu_hours")
	if seeds > 1 {
		t.addColumn("seed", func(row int) any { return rows[row].Seed })
	}
	t.people = newTable("policy,jct_mean,median,p99,queue,makespan,in_use,restarts,ftf,worse")
	each := len(rows) / seeds
	for i, r := range rows[:each] {
		cell := func(of func(compare.Row) float64, show func(float64) string) string {
			var values []float64
			for n := range seeds {
				values = append(values, of(rows[i+n*each]))
			}
			mean, sd := stat.MeanStdDev(values, nil)
			if seeds == 1 {
				return show(mean)
			}
			return show(mean) + " ± " + show(sd)
		}
		t.people.addUnder(fmt.Sprintf("%s, %d jobs", r.Workload, r.Jobs), r.Policy,
			cell(func(r compare.Row) float64 { return r.JCTMean }, seconds), cell(func(r compare.Row) float64 { return r.JCTMedian }, seconds),
			cell(func(r compare.Row) float64 { return r.JCTP99 }, seconds), cell(func(r compare.Row) float64 { return r.QueueMean }, seconds),
			cell(func(r compare.Row) float64 { return r.Makespan }, seconds), cell(func(r compare.Row) float64 { return r.Utilization }, part),
			cell(func(r compare.Row) float64 { return float64(r.Restarts) }, number), cell(func(r compare.Row) float64 { return r.FTFMean }, number),
			cell(func(r compare.Row) float64 { return r.Worse }, part))
	}
	return t
}

func (in *simulateFlags) load(ctx context.Context, a *app) error {
	if slices.ContainsFunc(in.loads, func(v float64) bool { return !(v > 0) || v > 1e6 }) {
		return usageError("--load %v: want factors > 0", in.loads)
	}
	if in.StopFree = in.scaling == stopFree; !in.StopFree {
		in.RescaleSeconds = 0
	}
	cluster, err := data.Load(in.cluster, data.ReadCluster)
	if err != nil {
		return err
	}
	if in.profiles != "" && in.Semantics != compare.Tiresias {
		if in.Profiles, err = measured.Load(in.profiles); err != nil {
			return err
		}
		a.warn(in.Profiles.Warnings...)
	}
	if err := in.loadModels(ctx, a); err != nil {
		return err
	}
	if err := in.loadPairs(a); err != nil {
		return err
	}
	for _, file := range in.workloads {
		jobs, warnings, err := data.LoadTable(file, simulate.ReadWorkload)
		if err != nil {
			return err
		}
		a.warn(warnings...)
		if n := list.Count(jobs, func(j simulate.Job) bool { return j.Unfinished() && j.Believed() == 0 }); n > 0 && in.profiles == "" {
			a.warn(fmt.Sprintf("%s: %d of %d jobs fail or are cancelled and have neither declared nor ends_at: policies do not know how long they would be", file, n, len(jobs)))
		}
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".csv")
		for _, load := range in.loads {
			in.Cases = append(in.Cases, compare.Case{Name: name, Jobs: jobs, Cluster: cluster}.AtLoad(load))
		}
	}
	return in.loadService()
}

func (in *simulateFlags) loadModels(ctx context.Context, a *app) (err error) {
	if in.oracle && (in.models == "" || in.measurements == "") {
		return usageError("--oracle: want --models and --measurements")
	}
	switch {
	case in.models != "":
		if in.Models, err = modelled.Load(in.models, in.Seed); err == nil && in.measurements != "" {
			warnings, measureErr := in.Models.Measure(in.measurements, in.oracle)
			a.warn(warnings...)
			return measureErr
		}
	case in.measurements != "":
		var warnings []string
		in.Models, warnings, err = modelled.Fit(ctx, in.measurements, in.Seed)
		a.warn(warnings...)
	}
	return err
}

func (in *simulateFlags) loadPairs(a *app) error {
	if in.packed == "" {
		return nil
	}
	if !slices.ContainsFunc(in.Policies, func(name string) bool { return slices.Contains(policy.Sharing(), name) }) {
		return usageError("--packed: want a policy that shares GPUs: %s", strings.Join(policy.Sharing(), ", "))
	}
	rows, warnings, err := interference.Load(in.packed)
	if err != nil {
		return err
	}
	a.warn(warnings...)
	in.Packed = simulate.NewPairs(rows, nil, in.Seed)
	return nil
}

// loadService reads the distribution of service times where a policy needs one.
func (in *simulateFlags) loadService() (err error) {
	gittins := func(policy string) bool {
		name, _ := tiresias.Canonical(policy)
		return name == "dlas-gpu-gittins"
	}
	switch {
	case in.Semantics != compare.Tiresias || !slices.ContainsFunc(in.Policies, gittins):
	case in.service == "":
		return usageError("the Gittins index needs --service-times, a CSV with a column duration")
	default:
		in.Service, err = simulate.LoadServiceTimes(in.service)
	}
	return err
}

func newSimulateGenerate(a *app) *cobra.Command {
	g := simulate.Generator{Count: 160, Hours: 8, MedianSeconds: 900, Sigma: 1.2, TailShare: .05}
	var mix, gpus []string
	cmd := command("generate", func(*cobra.Command, []string) error {
		var err error
		if g.Mix, err = simulate.ParseWeights(mix); err != nil {
			return usageError("--mix %s: %w", strings.Join(mix, ","), err)
		}
		if g.GPUs, err = simulate.ParseWeights(gpus); err != nil {
			return usageError("--gpus %s: %w", strings.Join(gpus, ","), err)
		}
		jobs, err := g.Jobs()
		if err != nil {
			return usageError("%w", err)
		}
		return simulate.WriteWorkload(a.stdout, jobs)
	})
	f := cmd.Flags()
	bounded(cmd, &g.Count, "jobs", "number of jobs", atLeast(1))
	bounded(cmd, &g.Hours, "hours", "hours over which jobs arrive", positive("hours"))
	bounded(cmd, &g.Diurnal, "diurnal", "daily swing of the rate of arrival, 0 to 1", shares())
	bounded(cmd, &g.MedianSeconds, "median", "median duration in seconds", data.PositiveSeconds())
	bounded(cmd, &g.Sigma, "sigma", "spread of the logarithm of durations", data.Bounds{Max: 10, Want: "a number from 0 to 10"})
	bounded(cmd, &g.TailShare, "tail", "share of jobs in the heavy tail", shares())
	bounded(cmd, &g.Failing, "failing", "share of jobs that fail", shares())
	bounded(cmd, &g.Unconverged, "unconverged", "share of jobs that do not converge", shares())
	bounded(cmd, &g.Tenants, "tenants", "number of tenants", atLeast(0))
	f.StringSliceVar(&mix, "mix", []string{"job=1"}, "applications and their weights")
	f.StringSliceVar(&gpus, "gpus", []string{"1=5", "2=2", "4=2", "8=1"}, "sizes and their weights")
	f.Int64Var(&g.Seed, "seed", 1, "seed of random draws")
	return cmd
}
