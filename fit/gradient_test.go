package fit

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// Every family's own derivatives agree with central differences, anywhere.
func TestGradientsMatchDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom(data.Modes()).Draw(t, "mode")
		name := rapid.SampledFrom(familiesOf(mode)).Draw(t, "family")
		k := rapid.IntRange(1, 32).Draw(t, "k")
		c := data.Config{
			Mode: mode, Workers: k, PS: rapid.IntRange(1, 8).Draw(t, "p"), AccumSteps: rapid.IntRange(0, 2).Draw(t, "s"),
			LocalBatch: rapid.Float64Range(1, 512).Draw(t, "b"), Placement: data.EvenPlacement(k, rapid.IntRange(1, k).Draw(t, "n")),
		}
		sc := scale{batch: 32, global: 128, compute: .2, step: .3}
		p := pointOf(c, sc)
		f := families()[name].make(mode, []point{p}, sc)
		own, ok := f.(gradienter)
		if !ok {
			if _, linear := f.(linearForm); !linear {
				t.Fatalf("family %s has neither derivatives nor features", name)
			}
			return
		}
		pr := f.prior()
		n := len(pr.mean)
		x := make([]float64, n)
		for i := range x {
			x[i] = pr.mean[i] + pr.sd[i]*rapid.Float64Range(-2, 2).Draw(t, "z")
		}
		step, compute := make([]float64, n), make([]float64, n)
		own.gradient(x, &p, step, compute)
		for i := range x {
			const h = 1e-5
			at := func(d float64) (float64, float64) { return f.bind(shifted(x, map[int]float64{i: d})).logTimes(&p) }
			s1, c1 := at(h)
			s0, c0 := at(-h)
			if got, want := step[i], (s1-s0)/(2*h); math.Abs(got-want) > 1e-6 {
				t.Fatalf("%s: ∂step/∂x%d = %g, differences give %g", name, i, got, want)
			}
			if got, want := compute[i], (c1-c0)/(2*h); math.Abs(got-want) > 1e-6 {
				t.Fatalf("%s: ∂compute/∂x%d = %g, differences give %g", name, i, got, want)
			}
		}
	})
}
