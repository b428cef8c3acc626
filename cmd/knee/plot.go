package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"knee/plots"
)

func newPlot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plot",
		Short: "Draw figures: scalability, efficiency, batch, convergence, search, allocation, simulation …",
		Long: `plot draws a figure from the files the other commands write. The extension of
--file decides the format: svg, png or pdf. The same input gives the same bytes.
Letters that the figures' font lacks are drawn in a font of this machine.`,
		Example: `  knee plot scalability model.json -f scalability.svg
  knee plot convergence study.curve.csv -f convergence.png`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&a.title, "title", "", "title in place of the figure's own")
	cmd.PersistentFlags().StringVar(&a.size, "size", "", "width and height in cm, such as 16x10 (default: the figure's own)")
	cmd.PersistentFlags().StringVar(&a.theme, "theme", string(plots.Light), "colours: "+strings.Join(plots.Themes(), ", "))
	completes(cmd, "theme", plots.Themes())
	cmd.AddCommand(
		newPlotScalability(a), newPlotEfficiency(a), newPlotBatch(a), newPlotHeatMap(a), newPlotSpeed(a), newPlotWhatIf(a),
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

// save draws a figure and says where, and which letters are missing in it.
func (a *app) save(file string, fig plots.Figure) error {
	theme, err := plots.ParseTheme(a.theme)
	if err != nil {
		return usageError{fmt.Errorf("--theme: found %q, want %s", a.theme, strings.Join(plots.Themes(), " or "))}
	}
	options := plots.Options{Title: a.title}
	if a.size != "" {
		if options.Width, options.Height, err = parseSize(a.size); err != nil {
			return err
		}
	}
	if err := options.Apply(fig); err != nil {
		return err
	}
	if missing := plots.Unwritable(file, fig); missing != "" {
		a.warn(fmt.Sprintf("%s: no font for %s; draw to .svg, or for .png install a font that has them", file, missing))
	}
	if err := plots.Save(file, theme.In(fig)); err != nil {
		return err
	}
	a.note("drew %s", file)
	return nil
}

// parseSize reads a width and a height in centimetres, such as 16x10.
func parseSize(s string) (width, height vg.Length, err error) {
	w, h, _ := strings.Cut(s, "x")
	x, errX := strconv.ParseFloat(w, 64)
	y, errY := strconv.ParseFloat(h, 64)
	if errX != nil || errY != nil {
		return 0, 0, usageError{fmt.Errorf("--size %q: want width and height in cm, such as 16x10", s)}
	}
	return vg.Length(x) * vg.Centimeter, vg.Length(y) * vg.Centimeter, nil
}
