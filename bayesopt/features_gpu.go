package bayesopt

import (
	"math"
	"slices"

	"knee/data"
)

// gpuColumns describe the GPU type by numbers, log2 of its speed, memory and
// memory bandwidth, so that what is learned on one type says something about
// those that are like it. A type that [data.FindGPU] does not know gets the
// average of the known ones and a 0/1 column of its own, as do known types
// that the numbers would not tell apart; with fewer than two known types
// every type is a category of its own.
func gpuColumns(cands []data.Config) []column {
	var types []string
	for _, c := range cands {
		if !slices.Contains(types, c.GPUType) {
			types = append(types, c.GPUType)
		}
	}
	slices.Sort(types)
	known := map[string][3]float64{}
	taken := map[[3]float64]bool{}
	var own []string // types with a column of their own
	var mean [3]float64
	for _, name := range types {
		g, ok := data.FindGPU(name)
		v := [3]float64{math.Log2(g.TFLOPS), math.Log2(g.Memory), math.Log2(g.Bandwidth)}
		if !ok || taken[v] {
			own = append(own, name)
		}
		if ok {
			known[name], taken[v] = v, true
			for k := range mean {
				mean[k] += v[k]
			}
		}
	}
	if len(taken) < 2 {
		return oneHot("gpu_type", cands, func(c data.Config) (string, bool) { return c.GPUType, true })
	}
	for k := range mean {
		mean[k] /= float64(len(known))
	}
	var cols []column
	for k, name := range []string{"gpu_tflops", "gpu_memory", "gpu_bandwidth"} {
		cols = append(cols, column{name: name, value: func(c data.Config) (float64, bool) {
			if v, ok := known[c.GPUType]; ok {
				return v[k], true
			}
			return mean[k], slices.Contains(types, c.GPUType)
		}})
	}
	for _, name := range own {
		cols = append(cols, column{name: "gpu_type", value: func(c data.Config) (float64, bool) {
			if c.GPUType == name {
				return 1, true
			}
			return 0, slices.Contains(types, c.GPUType)
		}})
	}
	return cols
}
