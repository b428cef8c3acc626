package speed

import (
	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
)

// ExpectedParts returns a function for the parts of a step on a GPU type
// without measurements, in an arbitrary unit: the form of layouts at its prior
// mean. a is the size of the model, zero if unknown.
func ExpectedParts(gpuType string, a data.Architecture) func(data.Config) form.LayoutParts {
	scale := form.Scale{Batch: 1, Global: 1, Time: 1, Step: 1, Unit: 1}
	f := form.Families()[form.LayoutFamily].New(data.AllReduce, nil, scale, false)
	var theta []float64
	for _, name := range f.Names() {
		theta = append(theta, linked(prior.Default().Forms[form.LayoutFamily][name], gpuType).Mean)
	}
	curve := f.Bind(theta)
	return func(c data.Config) form.LayoutParts {
		p := form.NewPoint(c, scale)
		p.Offsets = form.OffsetsOf(a)
		if gpuType == "cpu" {
			p.Offsets = p.Offsets.OfComputing()
		}
		parts, _ := form.LayoutPartsOf(curve, &p)
		return parts
	}
}
