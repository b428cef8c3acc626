package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
	"knee/fit/memory"
	"knee/profile"
)

func newBenchSearch(a *app) *cobra.Command {
	var methods []string
	var seeds, budget, layouts int
	var objective string
	var kinds bool
	var noise float64
	var out format
	cmd := &cobra.Command{
		Use:   "search TABLE.csv...",
		Short: "Compare what search methods spend on recorded tables",
		Long: `search runs search methods on tables of recorded runs: a column per parameter,
then time_s, cost_usd and status, and price_per_hour if it is known beforehand.
A row is a candidate whose outcome a method learns when it asks for it. Of
measurements of training plans (job, workers, step_time_s, status) every job and
number of GPUs with ten plans is a table. --layouts adds synthetic ones.

Printed for each table and method, averaged over the seeds: evaluations until
within 5 % of the best row (budget + 1 if never), their cost over that of the
cheapest row, simple regret after 5, 10 and 20 evaluations, when the method
stopped and the share of searches within 5 % then, and the share of evaluations
that failed, which are charged. --kinds averages over the tables of a kind and
adds the share of tables that take 10 % more evaluations than random.

--noise varies every evaluation; guided then measures some rows again, which is
charged too.`,
		Example: `  knee bench search tables/*.csv
  knee bench search table.csv --methods random,tpe,guided --seeds 30 -o csv
  knee bench search plans.csv --layouts 6 --kinds
  knee bench search table.csv --objective time_s --noise 0.1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			g := replay.Goal{Noise: noise}
			switch objective {
			case "cost_usd":
			case "time_s":
				g.Time = true
			default:
				return usageError("--objective %q: want cost_usd or time_s", objective)
			}
			if seeds < 1 || budget < 1 || !(noise >= 0 && noise <= 1) {
				return usageError("--seeds %d --budget %d --noise %g: want at least one seed and evaluation, and noise from 0 to 1", seeds, budget, noise)
			}
			if len(args) == 0 && layouts == 0 {
				return usageError("no tables: want TABLE.csv or --layouts")
			}
			var tables []*replay.Table
			for _, file := range args {
				of, err := replay.LoadTables(file)
				if err != nil {
					return err
				}
				for _, t := range of {
					if t.Plans() {
						t.Forms = profile.LayoutForms(t.Architecture)
					}
				}
				tables = append(tables, of...)
			}
			for k := range layouts {
				t := replay.NewLayout(int64(k))
				t.Forms, t.Memory = profile.LayoutForms(t.Architecture), memory.Feasibility{Architecture: t.Architecture}.Fits
				tables = append(tables, t)
			}
			bar := a.progress()
			results, err := replay.Compare(cmd.Context(), tables, methods, replay.Settings{Goal: g, Budget: budget, Seeds: seeds, Done: bar.At})
			bar.Close()
			if err != nil {
				return err
			}
			scores := make([]replay.Score, len(results))
			for i, r := range results {
				scores[i] = r.Score
			}
			if kinds {
				scores = replay.ByKind(scores)
				return out.print(a.stdout, scores, kindTable(scores, out))
			}
			return out.print(a.stdout, scores, scoreTable(scores, out))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&methods, "methods", []string{"random", "gp-ei", baseline.Guided}, "methods, as --strategy of knee suggest")
	f.IntVar(&seeds, "seeds", 30, "searches per table and method")
	f.IntVar(&budget, "budget", 20, "evaluations per search")
	f.StringVar(&objective, "objective", "cost_usd", "what to minimise: cost_usd or time_s")
	f.Float64Var(&noise, "noise", 0, "coefficient of variation of one evaluation")
	completesList(cmd, "methods", baseline.Strategies())
	f.IntVar(&layouts, "layouts", 0, "synthetic layout spaces to add")
	f.BoolVar(&kinds, "kinds", false, "average over the tables of a kind")
	formatFlag(cmd, &out)
	return cmd
}

func scoreTable(scores []replay.Score, out format) table {
	write := out.figures()
	t := table{columns: strings.Split("table,method,seeds,evals_to_5pct,cost_to_5pct_ratio,regret_5,regret_10,regret_20,stop_evals,stop_within_5pct,failed_share", ",")}
	for _, s := range scores {
		t.add(s.Table, s.Method, strconv.Itoa(s.Seeds), write(s.Evals), write(s.Cost), write(s.Regret5), write(s.Regret10), write(s.Regret20), write(s.StopEvals), write(s.StopWithin5), write(s.Failed))
	}
	return t
}

func kindTable(scores []replay.Score, out format) table {
	t := scoreTable(scores, out)
	t.columns[0] = "kind"
	t.columns = append(t.columns, "worse_share")
	for i, s := range scores {
		t.rows[i] = append(t.rows[i], out.figures()(s.Worse))
	}
	return t
}
