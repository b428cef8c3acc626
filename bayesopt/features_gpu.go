package bayesopt

import (
	"math"
	"slices"

	"knee/data"
)

// gpuColumns describes the GPU type by log2 of speed, memory and memory
// bandwidth, so that measurements on one type inform about similar ones. A type
// unknown to [data.FindGPU] gets the mean of the known ones and a 0/1 column;
// so do known types with the numbers of another. With fewer than two distinct
// known types, every type is a category.
func gpuColumns(cands []data.Config) []column {
	typeOf := func(c data.Config) string { return c.GPUType }
	types, numbers := levelsOf(cands, typeOf), map[string][3]float64{}
	var different [][3]float64
	var own []string // types with a 0/1 column
	for _, name := range types {
		g, ok := data.FindGPU(name)
		v := [3]float64{math.Log2(g.TFLOPS), math.Log2(g.Memory), math.Log2(g.Bandwidth)}
		if !ok || slices.Contains(different, v) {
			own = append(own, name)
		} else {
			different = append(different, v)
		}
		if ok {
			numbers[name] = v
		}
	}
	if len(different) < 2 {
		return oneHot("gpu_type", cands, typeOf)
	}
	var cols []column
	for k, name := range []string{"gpu_tflops", "gpu_memory", "gpu_bandwidth"} {
		mean := 0.0
		for _, name := range types {
			mean += numbers[name][k] / float64(len(numbers))
		}
		cols = append(cols, column{name: name, value: func(c data.Config) float64 {
			if v, ok := numbers[c.GPUType]; ok {
				return v[k]
			} else if slices.Contains(own, c.GPUType) {
				return mean
			}
			return math.NaN()
		}})
	}
	for _, name := range own {
		cols = append(cols, column{name: "gpu_type", value: func(c data.Config) float64 {
			if c.GPUType == name {
				return 1
			}
			return 0
		}})
	}
	return cols
}
