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
		Short: "Draw figures of models, measurements, plans and simulations",
		Long: `plot draws a figure from the files of the other commands. The extension of --file
is its format. Letters that the built-in font lacks, such as Chinese ones, are
drawn in a font of this machine.`,
		Example: `  knee plot scalability model.json -f scalability.svg
  knee plot convergence study.curve.csv -f convergence.png`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&a.title, "title", "", "title")
	cmd.PersistentFlags().StringVar(&a.size, "size", "", "width and height in cm, such as 16x10")
	cmd.PersistentFlags().StringVar(&a.theme, "theme", "light", "colours: light, dark")
	completes(cmd, "theme", []string{"light", "dark"})
	for _, f := range a.figures() {
		cmd.AddCommand(f.command(a))
	}
	return cmd
}

// figure is one sub-command of plot. The first word of its use is its name and
// that of its default file.
type figure struct {
	use, short, long, example string
	files                     cobra.PositionalArgs // cobra.NoArgs if nil
	flags                     func(*cobra.Command)
	draw                      func(cmd *cobra.Command, files []string) (plots.Figure, error)
}

func (a *app) figures() []figure {
	return []figure{
		scalabilityPlot(), efficiencyPlot(), batchPlot(), heatMapPlot(), speedPlot(), whatIfPlot(),
		a.convergencePlot(), a.searchPlot(), a.residualsPlot(),
		allocationPlot(), gainsPlot(), valuePlot(), simulationPlot(),
	}
}

func (f figure) command(a *app) *cobra.Command {
	name, _, _ := strings.Cut(f.use, " ")
	var file string
	cmd := &cobra.Command{Use: f.use, Short: f.short, Long: f.long, Example: f.example, Args: f.files,
		RunE: func(cmd *cobra.Command, files []string) error {
			fig, err := f.draw(cmd, files)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		}}
	if f.files == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.Flags().StringVarP(&file, "file", "f", name+".svg", ".svg, .png or .pdf file")
	_ = cmd.MarkFlagFilename("file", plots.Formats()...)
	f.flags(cmd)
	return cmd
}

// drawing makes a figure from its description, or returns the error of that.
func drawing[S any, F plots.Figure](draw func(S) (F, error)) func(S, error) (plots.Figure, error) {
	return func(s S, err error) (plots.Figure, error) {
		if err != nil {
			return nil, err
		}
		return draw(s)
	}
}

// save draws a figure, prints its path, and warns of letters without a font.
func (a *app) save(file string, fig plots.Figure) error {
	switch a.theme {
	case "light":
	case "dark":
		fig = plots.Dark(fig)
	default:
		return usageError("--theme: found %q, want light or dark", a.theme)
	}
	options := plots.Options{Title: a.title}
	if a.size != "" {
		var err error
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
	if err := plots.Save(file, fig); err != nil {
		return err
	}
	a.note("drew %s", file)
	return nil
}

func parseSize(s string) (width, height vg.Length, err error) {
	w, h, _ := strings.Cut(s, "x")
	x, errX := strconv.ParseFloat(w, 64)
	y, errY := strconv.ParseFloat(h, 64)
	if errX != nil || errY != nil {
		return 0, 0, usageError("--size %q: want width and height in cm, such as 16x10", s)
	}
	return vg.Length(x) * vg.Centimeter, vg.Length(y) * vg.Centimeter, nil
}
