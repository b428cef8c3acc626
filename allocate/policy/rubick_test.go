package policy

import (
	"slices"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// TestRubickClimbsTheSteepest: on 6 slots, a asked for 1 GPU and does 1, 1.9
// and 3.6 on 1, 2 and 4, b asked for 2 and does 2, 3 and 4. Relative to what
// they asked for, a gains .9 and then .85 per GPU and b (of 3) a third and then
// a sixth: a gets 4 and b 2. A job that has run for 100 s and lost 30 s to a
// restart keeps what it has.
func TestRubickClimbsTheSteepest(t *testing.T) {
	job := func(name string, asked int, speeds ...float64) allocate.JobState {
		j := allocate.JobState{Name: name, Current: -1, Requested: asked}
		for n, v := range speeds {
			c := data.Config{GPUType: types[0], Workers: 1 << n}
			j.Options = append(j.Options, allocate.Option{Use: allocate.UseOf(c, data.Resources{}), Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: v}}})
		}
		return j
	}
	s := stateOf(0, 6, 0, job("a", 1, 1, 1.9, 3.6), job("b", 2, 2, 3, 4))
	for _, tt := range []struct {
		held bool
		want []int
	}{{false, []int{2, 1}}, {true, []int{0, 2}}} {
		if tt.held {
			s.Jobs[0].Current, s.Jobs[0].History = 0, allocate.History{Ran: 100, Restart: 30}
		}
		got, err := serving(rubick).Allocate(s)
		if err != nil || !slices.Equal(got.Choice, tt.want) {
			t.Errorf("held %t: %v, %v, want %v", tt.held, got.Choice, err, tt.want)
		}
	}
}

// TestRubickTakesASlowerType: of two jobs that are faster on the first type, which has
// room for one, the second runs on the other.
func TestRubickTakesASlowerType(t *testing.T) {
	expect(t, serving(rubick), stateOf(0, 1, 1, gangOf("a", 0, 1, 1, 2), gangOf("b", 0, 1, 1, 2)), 0, 1)
}
