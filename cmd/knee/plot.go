package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"knee/data"
	"knee/internal/list"
	"knee/plots"
	"knee/predict"
)

func newPlot(a *app) *cobra.Command {
	cmd := group("plot", a.scalabilityPlot(), a.efficiencyPlot(), a.batchPlot(), a.heatMapPlot(), a.speedPlot(), a.whatIfPlot(),
		a.convergencePlot(), a.searchPlot(), a.residualsPlot(), a.allocationPlot(), a.gainsPlot(), a.valuePlot(), a.simulationPlot())
	f := cmd.PersistentFlags()
	f.StringVar(&a.title, "title", "", "title")
	f.StringVar(&a.size, "size", "", "width and height in cm, such as 16x10")
	themes := []string{"light", "dark"}
	a.theme = themes[0]
	f.Var(choice[string]{&a.theme, themes, "string"}, "theme", "colours: light, dark")
	completes(cmd, "theme", themes)
	return cmd
}

// plot returns a sub-command of plot that draws what it loads. The first word of its
// use is its name and that of its default file.
func plot[T any, F plots.Figure](a *app, use string, load func(files []string) (T, error), draw func(T) (F, error)) *cobra.Command {
	var file string
	cmd := command(use, func(_ *cobra.Command, files []string) error {
		loaded, err := load(files)
		if err != nil {
			return err
		}
		fig, err := draw(loaded)
		if err != nil {
			return err
		}
		return a.save(file, fig)
	})
	name, _, _ := strings.Cut(use, " ")
	cmd.Flags().StringVarP(&file, "file", "f", name+".svg", ".svg, .png or .pdf file")
	_ = cmd.MarkFlagFilename("file", plots.Formats()...)
	return cmd
}

// save draws a figure, prints its path, and warns of letters without a font.
func (a *app) save(file string, fig plots.Figure) error {
	options := plots.Options{Title: a.title}
	if a.size != "" {
		w, h, _ := strings.Cut(a.size, "x")
		width, err := strconv.ParseFloat(w, 64)
		height, err2 := strconv.ParseFloat(h, 64)
		if err != nil || err2 != nil {
			return usageError("--size %q: want width and height in cm, such as 16x10", a.size)
		}
		options.Width, options.Height = vg.Length(width)*vg.Centimeter, vg.Length(height)*vg.Centimeter
	}
	if err := options.Apply(fig); err != nil {
		return err
	}
	if a.theme == "dark" {
		fig = plots.Dark(fig)
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

// conditionFlags say which curves to show: every combination of what they list.
type conditionFlags struct {
	gpuTypes, modes []string
	local, global   []float64
	by, workers     string
	knobs           knobFlag
	price           priceFlag
}

func (f *conditionFlags) add(cmd *cobra.Command) {
	f.knobs = knobFlag{}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.gpuTypes, "gpu-type", nil, "GPU types, a curve for each (default: all)")
	fl.StringSliceVar(&f.modes, "mode", nil, "modes, a curve for each (default: all)")
	fl.Float64SliceVar(&f.local, "local-batch", nil, "samples per worker, a curve for each (default: measured most)")
	fl.Float64SliceVar(&f.global, "global-batch", nil, "samples per step, a curve for each")
	fl.StringVar(&f.by, "by", "", "local_batch, ps or a knob such as x_width: a curve for each measured value")
	fl.Func("knob", "`values` of a knob, a curve for each (default: measured most)", f.knobs.set)
	fl.StringVar(&f.workers, "workers", "", workersUsage)
}

func (f *conditionFlags) conditions(paths []string) ([]plots.Condition, error) {
	workers, err := counts("workers", f.workers)
	if err != nil {
		return nil, err
	}
	f.gpuTypes = list.Map(f.gpuTypes, data.GPUTypeOf)
	if batches := slices.Concat(f.local, f.global); slices.ContainsFunc(batches, func(b float64) bool { return !(b > 0) }) {
		return nil, usageError("--local-batch, --global-batch: want samples > 0, found %v", batches)
	}
	var out []plots.Condition
	var kinds []string
	for _, path := range paths {
		m, err := readModel(path)
		if err != nil {
			return nil, err
		}
		if err := f.knobs.check(m); err != nil {
			return nil, err
		}
		kinds = append(kinds, measuredKinds(m))
		all, err := plots.Conditions(&predict.Predictor{Model: m, Price: m.Prices(f.price)})
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if len(f.gpuTypes) > 0 && !slices.Contains(f.gpuTypes, c.Base.GPUType) || len(f.modes) > 0 && !slices.Contains(f.modes, string(c.Base.ModeOrDefault())) {
				continue
			}
			c.Workers = workers
			more, err := f.variants(c)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	for _, gpu := range f.gpuTypes {
		if !slices.ContainsFunc(out, func(c plots.Condition) bool { return c.Base.GPUType == gpu }) {
			return nil, usageError("no measurement of --gpu-type %q; there is %s", gpu, strings.Join(kinds, "; "))
		}
	}
	if len(out) == 0 {
		return nil, usageError("no measurement of --mode %s; there is %s", strings.Join(f.modes, ","), strings.Join(kinds, "; "))
	}
	return out, nil
}

// variants are a condition at every batch, knob and ps requested, or measured for --by.
func (f *conditionFlags) variants(c plots.Condition) ([]plots.Condition, error) {
	m, gpu, mode := c.Predictor.Model, c.Base.GPUType, c.Base.ModeOrDefault()
	knobs, local, servers := maps.Clone(f.knobs), f.local, []int{c.Base.PS}
	switch f.by {
	case "":
	case "ps":
		_, servers = predict.Sizes(m, gpu, mode)
	case "local_batch":
		all, _ := m.LocalBatches(gpu, mode)
		local = slices.Compact(slices.Sorted(slices.Values(slices.Concat(local, all))))
	default:
		names, by := []string{"local_batch", "ps"}, "x_"+strings.TrimPrefix(f.by, "x_")
		for _, k := range m.Knobs(gpu, mode) {
			if names = append(names, "x_"+k.Name); "x_"+k.Name == by {
				knobs[k.Name] = slices.SortedFunc(slices.Values(k.Values), byValue)
			}
		}
		if !slices.Contains(names, by) {
			return nil, usageError("--by %s: want one of %s", f.by, strings.Join(names, ", "))
		}
	}
	batches := []plots.Condition{c}
	if len(local)+len(f.global) > 0 {
		batches = nil
	}
	for _, b := range local {
		c.Base.LocalBatch, c.GlobalBatch = b, 0
		batches = append(batches, c)
	}
	for _, b := range f.global {
		c.GlobalBatch = b
		batches = append(batches, c)
	}
	var out []plots.Condition
	for _, c := range batches {
		for _, c.Base.Extra = range knobs.settings() {
			for _, ps := range servers {
				at, err := c, error(nil)
				if at.Base.PS = ps; f.by != "ps" {
					at, err = c.WithBestPS()
				}
				if err != nil {
					return nil, err
				}
				out = append(out, at)
			}
		}
	}
	return out, nil
}

// byValue sorts numbers by value, before other values as text.
func byValue(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil && x != y {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// baseFlags select the single curve of a model that a figure shows.
type baseFlags struct {
	gpuType, mode string
	localBatch    float64
}

func (b *baseFlags) add(cmd *cobra.Command) {
	b.addCurve(cmd)
	cmd.Flags().StringVar(&b.mode, "mode", "", "mode (default: the first)")
}

func (b *baseFlags) addCurve(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.gpuType, "gpu-type", "", "GPU type (default: the first)")
	bounded(cmd, &b.localBatch, "local-batch", "samples per worker (default: measured most)", positive("samples per worker"))
}

// open reads the model and returns the configuration that the flags select.
func (b *baseFlags) open(files []string) (plots.Condition, error) {
	given := func(s string) []string { return slices.DeleteFunc([]string{s}, func(s string) bool { return s == "" }) }
	f := conditionFlags{gpuTypes: given(b.gpuType), modes: given(b.mode)}
	if b.localBatch > 0 {
		f.local = []float64{b.localBatch}
	}
	all, err := f.conditions(files)
	if err != nil {
		return plots.Condition{}, err
	}
	return all[0], nil
}
