package main

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
	"knee/fit/memory"
	"knee/internal/parallel"
	"knee/profile"
)

func newBench(a *app) *cobra.Command {
	return group("bench", newBenchSearch(a), newBenchTarget(a))
}

func newBenchSearch(a *app) *cobra.Command {
	s := replay.Settings{Seeds: 30, Budget: 20}
	var methods []string
	var layouts int
	var objective string
	var kinds bool
	cmd := answering("search [TABLE.csv...]", func(cmd *cobra.Command, args []string, out format) error {
		tables, err := benchTables(args, replay.LoadTables, layouts)
		if err != nil {
			return err
		}
		bar := a.progress()
		s.Time, s.Done = objective == "time_s", bar.At
		scores, err := replay.Compare(cmd.Context(), tables, methods, s)
		bar.Close()
		if err != nil {
			return err
		}
		if kinds {
			scores = replay.ByKind(scores)
		}
		return out.print(a.stdout, scores, scoreTable(scores, kinds))
	})
	f := cmd.Flags()
	f.StringSliceVar(&methods, "methods", []string{"random", "gp-ei", baseline.Guided}, "methods, as --strategy of knee suggest")
	completesList(cmd, "methods", baseline.Strategies())
	bounded(cmd, &s.Seeds, "seeds", "searches per table and method", atLeast(1))
	bounded(cmd, &s.Budget, "budget", "evaluations per search", atLeast(1))
	oneOf(cmd, &objective, "objective", "what to minimise", "cost_usd", "time_s")
	bounded(cmd, &s.Noise, "noise", "coefficient of variation of one evaluation", shares())
	bounded(cmd, &layouts, "layouts", "synthetic layout spaces to add", atLeast(0))
	f.BoolVar(&kinds, "kinds", false, "average over the tables of a kind")
	return cmd
}

func benchTables(files []string, load func(string) ([]*replay.Table, error), layouts int, sizes ...int) ([]*replay.Table, error) {
	if len(files) == 0 && layouts == 0 {
		return nil, usageError("no tables: want a CSV or --layouts")
	}
	var tables []*replay.Table
	for _, file := range files {
		of, err := load(file)
		if err != nil {
			return nil, err
		}
		tables = append(tables, of...)
	}
	for k := range layouts {
		t := replay.NewLayout(int64(k), sizes...)
		t.Memory = memory.Feasibility{Architecture: t.Architecture}.Fits
		tables = append(tables, t)
	}
	for _, t := range tables {
		if t.Plans() {
			t.Forms, t.Model = profile.LayoutForms(t.Architecture), profile.SpeedModel(t.Architecture, 1)
		}
	}
	return tables, nil
}

// scoreTable lists scores by table, or by kind with the share worse than random.
func scoreTable(scores []replay.Score, kinds bool) *table {
	const columns = "table,method,seeds,evals_to_5pct,cost_to_5pct_ratio,regret_5,regret_10,regret_20," +
		"stop_evals,stop_within_5pct,failed_share"
	if !kinds {
		return tableOf(scores, columns)
	}
	t := tableOf(scores, columns+",worse_share")
	t.columns[0] = "kind"
	return t
}

type reached struct {
	Kind   string  `json:"kind"`
	Method string  `json:"method"`
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`             // throughput of the choice ÷ best
	Tenth  float64 `json:"tenth_percentile"` // of the same
	Within float64 `json:"within_5pct"`      // share of runs
}

func newBenchTarget(a *app) *cobra.Command {
	r, seeds := replay.Reach{At: 256, Measure: 32, Budget: 8}, 10
	var layouts int
	cmd := answering("target [PLANS.csv...]", func(cmd *cobra.Command, args []string, out format) error {
		sizes := []int{r.At}
		for n := r.Measure; n >= max(1, r.Measure/4); n /= 2 {
			sizes = append(sizes, n)
		}
		tables, err := benchTables(args, replay.LoadJobs, layouts, sizes...)
		if err != nil {
			return err
		}
		tables = slices.DeleteFunc(tables, func(t *replay.Table) bool { return !t.Reaches(r) })
		if len(tables) == 0 {
			return usageError("no job has ten plans on %d workers and more than %d on at most %d", r.At, r.Budget, r.Measure)
		}
		results, err := reach(a, tables, r, seeds)
		if err != nil {
			return err
		}
		return out.print(a.stdout, results, tableOf(results, "kind,method,runs,mean,tenth_percentile,within_5pct"))
	})
	bounded(cmd, &r.At, "at", "workers to find the best layout for", atLeast(1))
	bounded(cmd, &r.Measure, "measure", "most workers of a trial", atLeast(1))
	bounded(cmd, &r.Budget, "budget", "trials", atLeast(1))
	bounded(cmd, &seeds, "seeds", "searches per table and method", atLeast(1))
	bounded(cmd, &layouts, "layouts", "synthetic layout spaces to add", atLeast(0))
	return cmd
}

// reach runs every method on every table, once per seed.
func reach(a *app, tables []*replay.Table, r replay.Reach, seeds int) ([]reached, error) {
	methods := []string{baseline.Guided, "random", "scaled"}
	shares := make([]float64, len(tables)*len(methods)*seeds)
	for _, t := range tables {
		t.Forms = profile.LayoutForms(t.Architecture)
	}
	bar := a.progress()
	defer bar.Close()
	var done atomic.Int32
	of := func(job int) (*replay.Table, string) {
		return tables[job/seeds/len(methods)], methods[job/seeds%len(methods)]
	}
	err := parallel.Each(len(shares), 1, func() func(int) error {
		return func(job int) (err error) {
			t, method := of(job)
			one, seed := *t, int64(job%seeds)
			one.Model = profile.SpeedModel(t.Architecture, seed)
			shares[job], err = one.Reach(method, r, seed)
			bar.At(int(done.Add(1)), len(shares), t.Name+", "+method)
			return err
		}
	})
	groups := map[reached][]float64{}
	for job, share := range shares {
		t, method := of(job)
		key := reached{Kind: t.Kind, Method: method}
		groups[key] = append(groups[key], share)
	}
	var out []reached
	for one, s := range groups {
		slices.Sort(s)
		one.Runs, one.Mean, one.Tenth = len(s), stat.Mean(s, nil), s[len(s)/10]
		at, _ := slices.BinarySearch(s, .95)
		one.Within = float64(len(s)-at) / float64(len(s))
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b reached) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Method, b.Method)) })
	return out, err
}
