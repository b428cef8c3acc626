package main

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"knee/bayesopt/replay"
	"knee/fit/memory"
	"knee/internal/parallel"
	"knee/profile"
)

// reached holds the scores of a method over the tables of a kind.
type reached struct {
	Kind   string  `json:"kind"`
	Method string  `json:"method"`
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`             // throughput of the choice ÷ best
	Tenth  float64 `json:"tenth_percentile"` // of the same
	Within float64 `json:"within_5pct"`      // share of runs
}

func newBenchTarget(a *app) *cobra.Command {
	var r replay.Reach
	var seeds, layouts int
	var out format
	cmd := &cobra.Command{
		Use:   "target [PLANS.csv...]",
		Short: "How well a few small runs choose the layout of a large one",
		Long: `target asks for the fastest training plan on --at GPUs after --budget trials on
at most --measure GPUs, for every job of the measurements that has plans at both
(columns job, workers, step_time_s, status), and for synthetic layouts. It
prints the throughput of the choice as a share of the best: by the most
informative trials (guided), by random trials and the same model (random), and by
searching the largest size measured and adding replicas (scaled).`,
		Example: `  knee bench target --layouts 8 --at 256 --measure 32
  knee bench target plans.csv --at 8 --measure 4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.At < 1 || r.Measure < 1 || r.Budget < 1 || seeds < 1 || len(args) == 0 && layouts == 0 {
				return usageError("--at %d --measure %d --budget %d --seeds %d --layouts %d: want at least one each, and PLANS.csv or --layouts", r.At, r.Measure, r.Budget, seeds, layouts)
			}
			var tables []*replay.Table
			for _, file := range args {
				of, err := replay.LoadJobs(file)
				if err != nil {
					return err
				}
				tables = append(tables, of...)
			}
			for k := range layouts {
				sizes := []int{r.At}
				for n := r.Measure; n >= max(1, r.Measure/4); n /= 2 {
					sizes = append(sizes, n)
				}
				t := replay.NewLayout(int64(k), sizes...)
				t.Memory = memory.Feasibility{Architecture: t.Architecture}.Fits
				tables = append(tables, t)
			}
			tables = slices.DeleteFunc(tables, func(t *replay.Table) bool { return !t.Reaches(r) })
			if len(tables) == 0 {
				return usageError("no job has ten plans on %d workers and more than %d on at most %d", r.At, r.Budget, r.Measure)
			}
			results, err := reach(a, tables, r, seeds)
			if err != nil {
				return err
			}
			t := table{columns: []string{"kind", "method", "runs", "mean", "tenth_percentile", "within_5pct"}}
			for _, s := range results {
				t.add(s.Kind, s.Method, strconv.Itoa(s.Runs), out.figures()(s.Mean), out.figures()(s.Tenth), out.figures()(s.Within))
			}
			return out.print(a.stdout, results, t)
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.At, "at", 256, "workers to find the best layout for")
	f.IntVar(&r.Measure, "measure", 32, "most workers of a trial")
	f.IntVar(&r.Budget, "budget", 8, "trials")
	f.IntVar(&seeds, "seeds", 10, "searches per table and method")
	f.IntVar(&layouts, "layouts", 0, "synthetic layout spaces to add")
	formatFlag(cmd, &out)
	return cmd
}

// reach runs every method on every table, once per seed.
func reach(a *app, tables []*replay.Table, r replay.Reach, seeds int) ([]reached, error) {
	methods := replay.ReachMethods()
	shares := map[[2]string][]float64{}
	for _, t := range tables {
		t.Forms = profile.LayoutForms(t.Architecture)
	}
	bar := a.progress()
	defer bar.Close()
	var mu sync.Mutex
	done, total := 0, len(tables)*len(methods)*seeds
	err := parallel.Each(total, 1, func() func(int) error {
		return func(job int) error {
			t, method, seed := tables[job/seeds/len(methods)], methods[job/seeds%len(methods)], int64(job%seeds)
			how := r
			how.Model = profile.SpeedModel(t.Architecture, seed)
			share, err := t.Reach(method, how, seed)
			mu.Lock()
			defer mu.Unlock()
			key := [2]string{t.Kind, method}
			shares[key] = append(shares[key], share)
			done++
			bar.At(done, total, t.Name+", "+method)
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	var out []reached
	for key, s := range shares {
		slices.Sort(s)
		one := reached{Kind: key[0], Method: key[1], Runs: len(s), Tenth: s[len(s)/10]}
		for _, v := range s {
			one.Mean += v / float64(len(s))
			if v >= .95 {
				one.Within += 1 / float64(len(s))
			}
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b reached) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Method, b.Method)) })
	return out, nil
}
