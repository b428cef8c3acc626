package speed

import (
	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
)

// ExpectedLayout returns ln step time over layouts on a GPU type of a job that
// was never measured, up to a constant: the form of layouts at the mean of its
// prior. The architecture is that of the model, zero if it is not known.
func ExpectedLayout(gpuType string, a data.Architecture) func(data.Config) float64 {
	scale := form.Scale{Batch: 1, Global: 1, Time: 1, Step: 1, Unit: 1}
	f := form.Families()[form.LayoutFamily].New(data.AllReduce, nil, scale, false)
	gpu, known := data.FindGPU(gpuType)
	var theta []float64
	for _, name := range f.Names() {
		c := prior.Default().Forms[form.LayoutFamily][name]
		switch {
		case known && gpu.Link > 0:
			c.Mean += c.NVLink
		case !known && gpuType != "cpu":
			c.Mean += c.NVLink / 2
		}
		theta = append(theta, c.Mean)
	}
	curve := f.Bind(theta)
	return func(c data.Config) float64 {
		p := form.NewPoint(c, scale)
		p.Offsets = form.OffsetsOf(a)
		if gpuType == "cpu" {
			p.Offsets = p.Offsets.OfComputing()
		}
		ln, _ := curve.LogTimes(&p)
		return ln
	}
}
