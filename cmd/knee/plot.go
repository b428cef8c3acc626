package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"knee/plots"
)

func newPlot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plot",
		Short: "Draw figures: scalability, efficiency, batch, convergence, search, allocation, simulation …",
		Long: `plot draws a figure from the files the other commands write. The extension of
--file decides the format: svg, png or pdf. The same input gives the same bytes.
With --theme dark figures are light on dark, for slides and dark pages.`,
		Example: `  knee plot scalability model.json -f scalability.svg
  knee plot convergence study.curve.csv -f convergence.png`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&a.theme, "theme", string(plots.Light), "colours: "+strings.Join(plots.Themes(), ", "))
	completes(cmd, "theme", plots.Themes())
	cmd.AddCommand(
		newPlotScalability(a), newPlotEfficiency(a), newPlotBatch(a), newPlotHeatMap(a), newPlotSpeed(a),
		newPlotConvergence(a), newPlotSearch(a), newPlotResiduals(a),
		newPlotAllocation(a), newPlotGains(a), newPlotValue(a), newPlotSimulation(a),
	)
	return cmd
}

// fileFlag adds -f to a plot command.
func fileFlag(cmd *cobra.Command, file *string, name string) {
	cmd.Flags().StringVarP(file, "file", "f", name, "file to draw to: .svg, .png or .pdf")
	_ = cmd.MarkFlagFilename("file", plots.Formats()...)
}

// save draws a figure and says where.
func (a *app) save(file string, fig plots.Figure) error {
	theme, err := plots.ParseTheme(a.theme)
	if err != nil {
		return usageError{fmt.Errorf("--theme: found %q, want %s", a.theme, strings.Join(plots.Themes(), " or "))}
	}
	if err := plots.Save(file, theme.In(fig)); err != nil {
		return err
	}
	a.note("drew %s", file)
	return nil
}
