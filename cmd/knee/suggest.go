package main

import (
	"github.com/spf13/cobra"

	"knee/bayesopt"
	"knee/data"
	"knee/profile"
)

// suggestion is one element of the JSON that suggest prints.
type suggestion struct {
	Config    any     `json:"config,omitempty"`
	Expected  float64 `json:"expected,omitempty"`
	Unit      string  `json:"unit,omitempty"` // of expected, lo and hi
	Lo        float64 `json:"lo,omitempty"`
	Hi        float64 `json:"hi,omitempty"`
	PFeasible float64 `json:"p_feasible,omitempty"`
	Cost      float64 `json:"cost_usd"`
	PBetter   float64 `json:"p_better,omitempty"` // that something is better than the best by the target
	Remeasure bool    `json:"remeasure,omitempty"`
	Choice    any     `json:"choice,omitempty"` // with objective.at: what would be chosen there now
	Stop      bool    `json:"stop,omitempty"`
	Reason    string  `json:"reason"`
}

func newSuggest(a *app) *cobra.Command {
	var history, curve string
	var how searchFlags
	n := 1
	var out format
	cmd := &cobra.Command{
		Use:   "suggest STUDY.yaml",
		Short: "Say which configuration to measure next, and why",
		Long: `suggest names the configurations to measure next, for those who run trials
themselves. 'expected' is the study's objective with its 90 % interval.

With objective: {maximize: throughput, at: {workers: 256}, measure: {workers:
"<= 32"}} the trials are those that best decide the choice at 256 workers, and
'choice' is the best there so far.`,
		Example: `  knee suggest study.yaml
  knee suggest study.yaml --history measurements.csv -n 4 -o json`,
		RunE: func(_ *cobra.Command, args []string) error {
			study, err := data.LoadStudy(args[0])
			if err != nil {
				return err
			}
			var ms []data.Measurement
			if history != "" {
				if ms, err = a.rows(data.Import{}, "", history); err != nil {
					return err
				}
			}
			points, err := a.curves(curve)
			if err != nil {
				return err
			}
			if err := how.load(); err != nil {
				return err
			}
			next, err := profile.Suggest(study, how.Search, ms, points, n)
			if err != nil {
				return err
			}
			return printSuggestions(a, out, unit(study), next)
		},
	}
	cmd.Flags().StringVar(&history, "history", "", "measurements so far (CSV)")
	cmd.Flags().StringVar(&curve, "curve", "", "training curves, for the objective goodput")
	how.add(cmd)
	cmd.Flags().VarP(numberFlag[int]{&n, atLeast(1)}, "number", "n", "how many to suggest")
	formatFlag(cmd, &out)
	return cmd
}

// unit is the unit of a study's objective, which loading has checked.
func unit(s *data.Study) string {
	o, err := bayesopt.ParseObjective(s.Objective)
	if err != nil {
		return ""
	}
	if o == bayesopt.CostToTarget && s.Objective.Samples == 0 && s.Launcher.Replay == nil {
		return o.Unit() + " per sample"
	}
	return o.Unit()
}

func printSuggestions(a *app, out format, unit string, next []bayesopt.Suggestion) error {
	t := newTable("config,expected,unit,p_feasible,cost_usd,reason")
	list := []suggestion{}
	for _, s := range next {
		var choice any
		if s.Choice.Workers > 0 {
			choice = s.Choice
		}
		if s.Stop {
			list = append(list, suggestion{Stop: true, Reason: s.Reason, Choice: choice})
			t.add("(stop)", "", "", "", "", s.Reason)
			continue
		}
		list = append(list, suggestion{Config: s.Config, Expected: s.Expected.Mean, Lo: s.Expected.Lo, Hi: s.Expected.Hi, Unit: unit,
			PFeasible: s.PFeasible, Cost: s.Cost, PBetter: s.Better, Remeasure: s.Remeasure, Choice: choice, Reason: s.Reason})
		t.add(s.Config, between(s.Expected, number), unit, number(s.PFeasible), dollars(s.Cost), s.Reason)
	}
	return out.print(a.stdout, list, t)
}
