package allocate

import (
	"knee/data"
	"knee/predict"
)

// Option is one allocation a job could get: a row of its option table.
type Option struct {
	predict.Answer         // what the model says about Config, which has the placement shape it was predicted for
	Value          float64 // what the objective says about Answer; larger is better
	Use            Use     // what it takes from the cluster

	// Keeps: the job runs on this option already, so choosing it restarts nothing.
	Keeps bool
}

// Use is the demand of an option. The zero Use demands nothing.
type Use struct {
	GPUType  string
	GPUs     int     // worker slots of GPUType
	CPUs     float64 // cores of all workers together, on nodes of GPUType
	Memory   int64   // bytes of all workers together, on nodes of GPUType
	PSCPUs   float64 // cores of all parameter servers together, on any node
	PSMemory int64   // bytes of all parameter servers together, on any node
}

// UseOf returns the demand of a configuration whose workers and parameter
// servers need r.
func UseOf(c data.Config, r data.Resources) Use {
	w, p := float64(c.Workers), float64(c.PS)
	return Use{GPUType: c.GPUType, GPUs: c.Workers, CPUs: w * r.Worker.CPUs, Memory: int64(c.Workers) * r.Worker.Memory,
		PSCPUs: p * r.PS.CPUs, PSMemory: int64(c.PS) * r.PS.Memory}
}

// Narrowest is the index of the option of fewest GPUs, the fastest of those.
func Narrowest(options []Option) int {
	best := 0
	for n := range options {
		a, b := &options[n], &options[best]
		if a.Use.GPUs < b.Use.GPUs || a.Use.GPUs == b.Use.GPUs && Goodput(a) > Goodput(b) {
			best = n
		}
	}
	return best
}

// Goodput is the expected goodput of an option, in samples/s.
func Goodput(o *Option) float64 { return o.Answer.Goodput.Mean }
