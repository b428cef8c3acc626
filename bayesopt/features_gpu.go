package bayesopt

import (
	"math"

	"knee/data"
)

// gpuColumns describes the GPU type by log2 of speed, memory and memory
// bandwidth, so that measurements on one type inform about similar ones. A type
// unknown to [data.FindGPU] gets the mean of the known ones and a 0/1 column;
// so do known types with the numbers of another. With fewer than two distinct
// known types, every type is a category.
func gpuColumns(cands []data.Config) []column {
	typeOf := func(c data.Config) string { return c.GPUType }
	known := map[string][3]float64{}
	taken := map[[3]float64]bool{}
	own := map[string]bool{} // types with a 0/1 column
	var mean [3]float64
	types := levelsOf(cands, typeOf)
	for _, name := range types {
		g, ok := data.FindGPU(name)
		v := [3]float64{math.Log2(g.TFLOPS), math.Log2(g.Memory), math.Log2(g.Bandwidth)}
		if own[name] = !ok || taken[v]; ok {
			known[name], taken[v] = v, true
		}
	}
	if len(taken) < 2 {
		return oneHot("gpu_type", cands, typeOf)
	}
	for _, v := range known {
		for k := range mean {
			mean[k] += v[k] / float64(len(known))
		}
	}
	var cols []column
	for k, name := range []string{"gpu_tflops", "gpu_memory", "gpu_bandwidth"} {
		cols = append(cols, column{name: name, value: func(c data.Config) float64 {
			if v, ok := known[c.GPUType]; ok {
				return v[k]
			}
			if _, ok := own[c.GPUType]; ok {
				return mean[k]
			}
			return math.NaN()
		}})
	}
	for _, name := range types {
		if own[name] {
			cols = append(cols, column{name: "gpu_type", value: func(c data.Config) float64 {
				if c.GPUType == name {
					return 1
				}
				return 0
			}})
		}
	}
	return cols
}
