package prior

import "testing"

// The embedded prior is complete: scales are positive and correlations lie
// between 0 and 1.
func TestDefault(t *testing.T) {
	p := Default()
	for form, cs := range p.Forms {
		for name, c := range cs {
			if !(c.SD > 0) || !(c.Type >= 0) {
				t.Errorf("%s of %s: %+v", name, form, c)
			}
		}
	}
	k := p.Kernel
	if !(min(k.Batch, k.BatchLength, k.Workers, k.Nodes, k.KnobLength, k.KnobAll, k.Noise, k.Run, k.Timers, p.Scatter, p.NoiseScatter, p.KnobScatter) > 0) ||
		!(k.TypeShare > 0 && k.TypeShare < 1) || !(p.ClusterShare > 0 && p.ClusterShare < 1) || !(p.Tail > 1) || len(p.Provenance) == 0 {
		t.Errorf("%+v", p)
	}
	if _, err := Decode([]byte("{")); err == nil {
		t.Error("half a file was read")
	}
}
