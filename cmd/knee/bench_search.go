package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"knee/bayesopt/replay"
)

func newBenchSearch(a *app) *cobra.Command {
	var methods []string
	var seeds, budget int
	var objective string
	var noise float64
	var out format
	cmd := &cobra.Command{
		Use:   "search TABLE.csv...",
		Short: "How many evaluations, and how much money, a search method needs on recorded tables",
		Long: `search replays search methods on tables in which every configuration was
measured. A table has a column per parameter, then time_s, cost_usd and status;
every row is a candidate, and a method sees its outcome only when it asks for
it. price_per_hour, if there, is known beforehand.

For each table and method, averaged over the seeds: evaluations until within
5 % of the best row (budget + 1 if never), Σ cost until then as a multiple of
the cheapest row, simple regret after 5, 10 and 20 evaluations, evaluations when
the method's stopping rule fired, and the share of searches that were within 5 %
of the best then. A method with -map after its name takes the single best
hyperparameters instead of averaging over them.`,
		Example: `  knee bench search tables/*.csv
  knee bench search table.csv --methods random,tpe,knee --seeds 30 -o csv
  knee bench search table.csv --objective time_s --noise 0.1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			g := replay.Goal{Noise: noise}
			switch objective {
			case "cost_usd":
			case "time_s":
				g.Time = true
			default:
				return usageError{fmt.Errorf("--objective %q: want cost_usd or time_s", objective)}
			}
			if seeds < 1 || budget < 1 || noise < 0 || noise > 1 {
				return usageError{fmt.Errorf("--seeds %d --budget %d --noise %g: want at least one seed and evaluation, and noise from 0 to 1", seeds, budget, noise)}
			}
			var scores []replay.Score
			for _, file := range args {
				t, err := replay.LoadTable(file)
				if err != nil {
					return err
				}
				for _, method := range methods {
					a.note("%s: %s, %d searches", t.Name, method, seeds)
					s, err := t.Try(cmd.Context(), method, g, budget, seeds)
					if err != nil {
						return err
					}
					scores = append(scores, s)
				}
			}
			return out.print(a.stdout, scores, scoreTable(scores))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&methods, "methods", []string{"random", "tpe", "knee"}, "methods to compare")
	f.IntVar(&seeds, "seeds", 30, "searches per table and method")
	f.IntVar(&budget, "budget", 20, "evaluations per search")
	f.StringVar(&objective, "objective", "cost_usd", "what to minimise: cost_usd or time_s")
	f.Float64Var(&noise, "noise", 0, "coefficient of variation of one evaluation")
	formatFlag(cmd, &out)
	return cmd
}

func scoreTable(scores []replay.Score) table {
	t := table{columns: strings.Split("table,method,seeds,evals_to_5pct,cost_to_5pct_ratio,regret_5,regret_10,regret_20,stop_evals,stop_within_5pct", ",")}
	for _, s := range scores {
		t.add(s.Table, s.Method, strconv.Itoa(s.Seeds), number(s.Evals), number(s.Cost), number(s.Regret5), number(s.Regret10), number(s.Regret20), number(s.StopEvals), number(s.StopWithin5))
	}
	return t
}
