package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"knee/fit"
	"knee/plots"
	"knee/predict"
)

// conditionFlags say which curves over workers a figure shows: every combination
// of what they list.
type conditionFlags struct {
	gpuTypes, modes []string
	local, global   []float64
	by, workers     string
	knobs           knobFlag
	price           priceFlag
}

func (f *conditionFlags) add(cmd *cobra.Command) {
	f.knobs, f.price = knobFlag{}, priceFlag{}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.gpuTypes, "gpu-type", nil, "GPU types, a curve for each (default: all)")
	fl.StringSliceVar(&f.modes, "mode", nil, "modes, a curve for each (default: all)")
	fl.Float64SliceVar(&f.local, "local-batch", nil, "samples per worker, a curve for each (default: measured most)")
	fl.Float64SliceVar(&f.global, "global-batch", nil, "samples per step, a curve for each")
	fl.StringVar(&f.by, "by", "", "local_batch, ps or a knob such as x_width: a curve for each measured value")
	fl.Var(f.knobs, "knob", "values of a knob, a curve for each (default: measured most)")
	fl.StringVar(&f.workers, "workers", "", workersUsage)
}

const workersUsage = "numbers of workers: 1,2,4 or 1..16 or 1..64*2 (default: up to twice the most measured)"

// optionalCounts reads --workers, nil if it is empty.
func optionalCounts(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	return counts("workers", s)
}

func (f *conditionFlags) conditions(paths []string) ([]plots.Condition, error) {
	workers, err := optionalCounts(f.workers)
	if err != nil {
		return nil, err
	}
	var out []plots.Condition
	var kinds []string
	for _, path := range paths {
		m, err := fit.ReadModel(path)
		if err != nil {
			return nil, err
		}
		if err := f.knobs.check(m); err != nil {
			return nil, err
		}
		kinds = append(kinds, measuredKinds(m))
		all, err := plots.Conditions(&predict.Predictor{Model: m, Price: f.price})
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

// variants returns a condition with every batch, knob and number of ps requested.
func (f *conditionFlags) variants(c plots.Condition) ([]plots.Condition, error) {
	knobs := f.knobs
	local, servers := f.local, []int{c.Base.PS}
	if f.by != "" {
		var err error
		if knobs, local, servers, err = f.measured(c); err != nil {
			return nil, err
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

// measured returns the measured values of the knob of --by.
func (f *conditionFlags) measured(c plots.Condition) (knobs knobFlag, local []float64, servers []int, err error) {
	m := c.Predictor.Model
	knobs, local, servers = knobFlag{}, f.local, []int{c.Base.PS}
	for name, values := range f.knobs {
		knobs[name] = values
	}
	gpu, mode := c.Base.GPUType, c.Base.ModeOrDefault()
	switch f.by {
	case "ps":
		_, servers = predict.Sizes(m, gpu, mode)
		return knobs, local, servers, nil
	case "local_batch":
		all, _ := m.LocalBatches(gpu, mode)
		local = slices.Concat(local, all)
		slices.Sort(local)
		return knobs, slices.Compact(local), servers, nil
	}
	names := []string{"local_batch", "ps"}
	for _, k := range m.Knobs(gpu, mode) {
		if k.Name == strings.TrimPrefix(f.by, "x_") {
			knobs[k.Name] = slices.SortedFunc(slices.Values(k.Values), byValue)
			return knobs, local, servers, nil
		}
		names = append(names, "x_"+k.Name)
	}
	return nil, nil, nil, usageError("--by %s: want one of %s", f.by, strings.Join(names, ", "))
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

type axisFlags struct{ x, y string }

var axisScales = []string{"auto", "linear", "log"}

func (f *axisFlags) add(cmd *cobra.Command) {
	for name, to := range map[string]*string{"x-axis": &f.x, "y-axis": &f.y} {
		cmd.Flags().StringVar(to, name, "auto", "scale: "+strings.Join(axisScales, ", "))
		completes(cmd, name, axisScales)
	}
}

func (f *axisFlags) scales() (x, y plots.Scale, err error) {
	parse := func(flag, v string) plots.Scale {
		i := slices.Index(axisScales, v)
		if i < 0 {
			err = usageError("--%s %q: want %s", flag, v, strings.Join(axisScales, ", "))
		}
		return plots.Scale(i)
	}
	return parse("x-axis", f.x), parse("y-axis", f.y), err
}

// baseFlags select the single curve of a model that a figure shows.
type baseFlags struct {
	gpuType, mode string
	localBatch    float64
}

func (b *baseFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.gpuType, "gpu-type", "", "GPU type (default: the first)")
	cmd.Flags().StringVar(&b.mode, "mode", "", "mode (default: the first)")
	cmd.Flags().Float64Var(&b.localBatch, "local-batch", 0, "samples per worker (default: measured most)")
}

// open reads the model and returns the configuration that the flags select.
func (b *baseFlags) open(path string) (plots.Condition, error) {
	var f conditionFlags
	if b.gpuType != "" {
		f.gpuTypes = []string{b.gpuType}
	}
	if b.mode != "" {
		f.modes = []string{b.mode}
	}
	if b.localBatch > 0 {
		f.local = []float64{b.localBatch}
	}
	all, err := f.conditions([]string{path})
	if err != nil {
		return plots.Condition{}, err
	}
	return all[0], nil
}
