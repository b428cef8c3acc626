package bayesopt

import "testing"

func TestDollars(t *testing.T) {
	for v, want := range map[float64]string{0: "$0.00", 8.7e-5: "<$0.0001", .00123: "$0.0012", .8: "$0.80", 12.345: "$12.35"} {
		if got := dollars(v); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
}
