package dl2_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"knee/allocate/policy/dl2"
)

func TestDerive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	net, gradient := dl2.Zero(5), dl2.Zero(5)
	x := make([]float64, dl2.Features)
	for k := range x {
		x[k] = rng.NormFloat64()
	}
	for _, unit := range net {
		for k := range unit {
			unit[k] = rng.NormFloat64()
		}
	}
	net.Derive(gradient, x, 1)
	check := func(w *float64, got float64) {
		t.Helper()
		const h = 1e-5
		was := *w
		*w = was + h
		up := net.Score(x)
		*w = was - h
		slope := (up - net.Score(x)) / (2 * h)
		*w = was
		if math.Abs(slope-got) > 1e-8 {
			t.Errorf("derivative %g, want %g", got, slope)
		}
	}
	for u, unit := range net {
		for k := range unit {
			check(&unit[k], gradient[u][k])
		}
	}
}
