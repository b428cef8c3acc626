package prior

import "testing"

// The embedded prior is complete: scales are positive, shares between 0 and 1.
func TestDefault(t *testing.T) {
	p := Default()
	for form, cs := range p.Forms {
		for name, c := range cs {
			if !(c.SD > 0) {
				t.Errorf("%s of %s: %+v", name, form, c)
			}
		}
	}
	k := p.Kernel
	if !(min(k.Process, k.Length, k.Knobs, k.Layouts, k.KnobLength, k.Noise, p.Scatter) > 0) ||
		!(p.Own > 0 && p.Own < 1) || !(p.Tail > 1) || len(p.Provenance) == 0 {
		t.Errorf("%+v", p)
	}
}
