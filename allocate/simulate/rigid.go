package simulate

import (
	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// RigidOptions is the option table of a job that runs only as its owner
// asked, at one sample per second: with its Work in seconds, that is the
// model of traces that record durations and no speeds. Every GPU type of the
// cluster on which the gang fits is an option, of equal speed. The table is
// empty if the gang fits nowhere.
func RigidOptions(j Job, cluster *data.Cluster) []allocate.Option {
	workers := max(1, j.Workers)
	slots := NewSlots(cluster)
	one := data.Estimate{Mean: 1, Lo: 1, Hi: 1}
	var out []allocate.Option
	for _, t := range slots.Types {
		if slots.Total[t] < workers {
			continue
		}
		c := data.Config{GPUType: t, Mode: data.AllReduce, Workers: workers}
		out = append(out, allocate.Option{
			Config: c, Use: allocate.UseOf(c, data.Resources{}),
			Answer: predict.Answer{Config: c, Goodput: one, Throughput: one},
		})
	}
	return out
}
