package simulate

import (
	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
	"knee/predict"
)

// RigidOptions is the option table of a job of known duration, which runs only as its
// owner asked: every GPU type of the cluster on which the gang fits, at one sample per
// second, its Work being in seconds. It is empty if the gang fits nowhere.
func RigidOptions(j Job, cluster *data.Cluster) []allocate.Option {
	workers := max(1, j.Workers)
	fits := place.Fits(cluster)
	var out []allocate.Option
	for _, t := range cluster.GPUTypes() {
		if fits[t].Total() < workers {
			continue
		}
		out = append(out, Known(data.Config{GPUType: t, Mode: data.AllReduce, Workers: workers}, 1))
	}
	return out
}

// Known is the option of a configuration that runs at a known speed, in samples/s.
func Known(c data.Config, speed float64) allocate.Option {
	e := data.Estimate{Mean: speed, Lo: speed, Hi: speed}
	return OptionOf(predict.Answer{Config: c, Goodput: e, Throughput: e})
}

// OptionOf is the option of an answer. It uses no resource but GPUs.
func OptionOf(a predict.Answer) allocate.Option {
	return allocate.Option{Answer: a, Use: allocate.UseOf(a.Config, data.Resources{})}
}
