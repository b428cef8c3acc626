package main

import (
	"strings"

	"github.com/spf13/cobra"

	"knee/bayesopt"
	"knee/data"
	"knee/plots"
	"knee/profile"
)

func newPlotSearch(a *app) *cobra.Command {
	var file, study, along string
	cmd := &cobra.Command{
		Use:   "search MEASUREMENTS.csv",
		Short: "Progress of a search, or what it believes along one knob",
		Long: `search draws every trial and the best throughput so far.

With --study and --along it draws what the search believes along one knob of the
study, everything else as in the best configuration so far: the objective with
its 90 % band, the measured points, and below the expected improvement that
decides what is measured next.`,
		Example: `  knee plot search study.measurements.csv -f search.svg
  knee plot search study.measurements.csv --study study.yaml --along workers -f surrogate.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (study == "") != (along == "") {
				return usageError{errorf("--study %q and --along %q: want both or neither", study, along)}
			}
			ms, _, err := a.history(args[0], "")
			if err != nil {
				return err
			}
			var fig plots.Figure
			if study != "" {
				fig, err = surrogateFigure(study, along, ms)
			} else {
				fig, err = searchFigure(ms, "throughput (samples/s)", data.Measurement.Throughput)
			}
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "search.svg")
	cmd.Flags().StringVar(&study, "study", "", "study that was searched, for --along")
	cmd.Flags().StringVar(&along, "along", "", "knob to draw the belief along: workers, nodes, ps, local_batch, accum_steps or a further knob")
	return cmd
}

// surrogateFigure draws the belief of a study's search along one knob.
func surrogateFigure(path, along string, ms []data.Measurement) (plots.Figure, error) {
	study, err := data.LoadStudy(path)
	if err != nil {
		return nil, err
	}
	candidates, err := profile.Candidates(study)
	if err != nil {
		return nil, err
	}
	strategy, err := profile.NewStrategy(study, profile.Search{Strategy: "knee"}, nil)
	if err != nil {
		return nil, err
	}
	objective, err := bayesopt.ParseObjective(study.Objective)
	if err != nil {
		return nil, err
	}
	guided := strategy.(*bayesopt.Guided) // what the name knee stands for
	h := bayesopt.History{Candidates: candidates, Measured: ms}
	slice, err := guided.Along(h, along)
	if err != nil {
		return nil, err
	}
	next, err := guided.Next(h)
	if err != nil {
		return nil, err
	}
	spec := plots.Surrogate{Title: "What the search of " + study.Job + " believes", Subtitle: "everything but " + strings.ReplaceAll(along, "_", " ") + " as in " + slice.Through.String(),
		Knob: strings.ReplaceAll(along, "_", " "), Objective: objectiveLabel(objective, study.Objective.Samples), GainLabel: "expected gain (%)"}
	for _, p := range slice.Points {
		spec.Belief = append(spec.Belief, plots.BandOf(p.Value, p.Expected, false))
		spec.Gain = append(spec.Gain, plots.Band{X: p.Value, Mean: 100 * p.Improvement})
		for _, m := range ms {
			if m.Key() != candidates[p.Index].Key() {
				continue
			}
			y, ok := guided.Value(m)
			spec.Points = append(spec.Points, plots.Point{X: p.Value, Y: y, Status: m.Status})
			if !ok && m.Status == data.OK {
				spec.Points = spec.Points[:len(spec.Points)-1]
			}
		}
		if !next.Stop && next.Index == p.Index {
			spec.Next = &p.Value
		}
	}
	return plots.NewSurrogate(spec)
}

// objectiveLabel names an objective with its unit.
func objectiveLabel(o bayesopt.Objective, work float64) string {
	switch o {
	case bayesopt.Throughput, bayesopt.Goodput:
		return string(o) + " (samples/s)"
	case bayesopt.CostToTarget:
		if work > 0 {
			return "cost of the job (US$)"
		}
		return "cost per sample (US$)"
	}
	return "step time (s)"
}

// searchFigure draws the trials of one job in their order by an objective
// of which more is better.
func searchFigure(ms []data.Measurement, objective string, value func(data.Measurement) float64) (plots.Figure, error) {
	spec := plots.Search{Title: "Search", Objective: objective}
	for i, m := range ms {
		spec.Title = "Search of " + m.Job
		spec.Trials = append(spec.Trials, plots.SearchTrial{Number: i + 1, Value: value(m), Status: m.Status, Label: m.Config.String()})
	}
	return plots.NewSearch(spec)
}
