package modelled

import (
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/simulate"
	"knee/data"
)

// candidates are the measured configurations that a job may run: those on as few nodes
// as the workers need, and, if a layout is given, with that layout.
func (a *app) candidates(job data.Job, layout *data.Layout, c *data.Cluster) ([]allocate.Option, error) {
	gpus := place.Fits(c)
	var out []allocate.Option
	for _, x := range a.only {
		if x.Workers > gpus[x.GPUType].Total() || x.Workers < job.Workers.Min || job.Workers.Max > 0 && x.Workers > job.Workers.Max ||
			len(x.Placement) > len(gpus[x.GPUType].Packed(x.Workers)) || layout != nil && !sameLayout(x.Layout, *layout) {
			continue
		}
		answer, err := a.predict.At(x)
		if err != nil {
			return nil, err
		}
		if a.oracle {
			v, err := a.goodput(answer.Config)
			if err != nil {
				return nil, err
			}
			answer.Goodput = data.Estimate{Mean: v, Lo: v, Hi: v}
		}
		out = append(out, simulate.OptionOf(answer))
	}
	return out, nil
}

// fastest keeps the option that should be fastest of every number of workers of a GPU
// type, and the one that a job runs, so that GPUs and layout are chosen together.
func fastest(all []allocate.Option, current *data.Config) []allocate.Option {
	beaten := func(o allocate.Option) bool {
		if current != nil && key(o.Config) == key(*current) {
			return false
		}
		return slices.ContainsFunc(all, func(x allocate.Option) bool {
			v, w := x.Answer.Goodput.Mean, o.Answer.Goodput.Mean
			return x.Use.GPUs == o.Use.GPUs && x.Use.GPUType == o.Use.GPUType && (v > w || v == w && key(x.Config) < key(o.Config))
		})
	}
	return slices.DeleteFunc(slices.Clone(all), beaten)
}

// sameLayout compares two layouts by value: an omitted default equals a written one.
func sameLayout(a, b data.Layout) bool {
	return !slices.ContainsFunc(data.LayoutNames(), func(name string) bool { return a.Get(name) != b.Get(name) })
}
