package modelled

import (
	"cmp"
	"maps"
	"slices"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// choose offers, of the configurations that were measured, the one that should
// be fastest for every number of workers, GPUs and layout chosen together:
// those on as few nodes as the workers need, and where a layout is given those
// of it.
func (a *app) choose(job data.Job, layout *data.Layout, c *data.Cluster) ([]allocate.Option, error) {
	type size struct {
		gpuType string
		workers int
	}
	room, widest := map[string]int{}, map[string]int{}
	for _, n := range c.Nodes {
		if !n.Drained {
			room[n.GPUType] += n.GPUs
			widest[n.GPUType] = max(widest[n.GPUType], n.GPUs)
		}
	}
	best := map[size]allocate.Option{}
	for _, x := range a.only {
		if x.Workers > room[x.GPUType] || x.Workers < job.Workers.Min || job.Workers.Max > 0 && x.Workers > job.Workers.Max ||
			len(x.Placement) > (x.Workers+widest[x.GPUType]-1)/widest[x.GPUType] || layout != nil && !sameLayout(x.Layout, *layout) {
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
		o := allocate.Option{Config: answer.Config, Answer: answer, Use: allocate.UseOf(answer.Config, data.Resources{})}
		at := size{x.GPUType, x.Workers}
		if old, known := best[at]; !known || better(answer, old.Answer) {
			best[at] = o
		}
	}
	out := slices.Collect(maps.Values(best))
	slices.SortFunc(out, func(a, b allocate.Option) int {
		return cmp.Or(cmp.Compare(a.Config.GPUType, b.Config.GPUType), cmp.Compare(a.Use.GPUs, b.Use.GPUs))
	})
	return out, nil
}

// better prefers the larger goodput, and of equals the shorter name, so that
// the order of a table does not decide.
func better(a, b predict.Answer) bool {
	if a.Goodput.Mean != b.Goodput.Mean {
		return a.Goodput.Mean > b.Goodput.Mean
	}
	return key(a.Config) < key(b.Config)
}

// sameLayout compares what two layouts say, not what they leave unknown.
func sameLayout(a, b data.Layout) bool {
	return !slices.ContainsFunc(data.LayoutNames(), func(name string) bool { return a.Get(name) != b.Get(name) })
}
