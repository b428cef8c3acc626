package speed

import "testing"

// A family that predicts larger sizes far better is named if the intervals of the one in
// use miss most of these sizes: wide ones say themselves how little is known.
func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		forward, missed, rival, single float64
		want                           int
	}{
		{40, 1, 5, 8, 1},
		{40, .25, 5, 8, 0}, // its intervals say so
		{40, .25, 5, 1, 1}, // the other is better with single measurements too
		{40, 1, 30, 1, 0},  // the other is no better
		{8, 1, 1, 1, 0},    // as far off as published models
	} {
		got := Doubts([]FamilyScore{
			{GPUType: "t4", Family: "collective", Chosen: true, Forward: c.forward, Missed: c.missed, LeaveOneOut: 10},
			{GPUType: "t4", Family: "linear", Forward: c.rival, LeaveOneOut: c.single},
			{GPUType: "v100", Family: "linear", Forward: 0},
		})
		if len(got) != c.want {
			t.Errorf("error %g %%, %g of the sizes missed, other family %g %%: %q", c.forward, c.missed, c.rival, got)
		}
	}
}
