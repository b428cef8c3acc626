package policy

import (
	"slices"
	"testing"

	"knee/allocate"
	"knee/allocate/policy/dl2"
	"knee/data"
	"knee/predict"
)

// growing runs on 1, 2 and 4 GPUs at the speeds given.
func growing(name string, remaining float64, speeds ...float64) allocate.JobState {
	j := allocate.JobState{Name: name, Current: -1, Remaining: remaining}
	for k, v := range speeds {
		c := data.Config{GPUType: types[0], Workers: 1 << k}
		j.Options = append(j.Options, allocate.Option{Use: allocate.UseOf(c, data.Resources{}), Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: v}}})
	}
	return j
}

// oneFeature scores a step by one feature; stopping scores zero.
func oneFeature(feature int, by float64) dl2.Net {
	net := dl2.Zero(1)
	net[0][feature], net[0][dl2.Features+1] = by, 1
	return net
}

// The gain per GPU of the steps of a is 1, .2 and .1, that of b 1, .8 and .5,
// that of c 1, −.1 and 0.
func TestDL2ByHand(t *testing.T) {
	a, b, c := growing("a", 100, 1, 1.2, 1.4), growing("b", 100, 1, 1.8, 2.8), growing("c", 100, 1, .9, .9)
	const gain = 3
	for _, tt := range []struct {
		gpus int
		net  dl2.Net
		want []int
		why  string
	}{
		{2, oneFeature(gain, 1), []int{0, 0, -1}, "everyone gets one first, in order of submission"},
		{4, oneFeature(gain, 1), []int{0, 1, 0}, "the fourth goes where it brings .8"},
		{7, oneFeature(gain, 1), []int{1, 2, 0}, ".5 per GPU for b, then .2 for a; .1 does not fit"},
		{16, oneFeature(gain, 1), []int{2, 2, 0}, "c would lose, and standing still is better"},
		{16, oneFeature(gain, -1), []int{0, -1, -1}, "while nobody runs somebody starts"},
	} {
		got, err := DL2{Net: tt.net}.Allocate(stateOf(0, tt.gpus, 0, a, b, c))
		if err != nil || !slices.Equal(got.Choice, tt.want) {
			t.Errorf("%d GPUs: %v, %v; want %v: %s", tt.gpus, got.Choice, err, tt.want, tt.why)
		}
	}
}

func TestDL2KeepsQuotas(t *testing.T) {
	a, b := growing("a", 100, 1, 2, 4), growing("b", 100, 1, 2, 4)
	a.History.Tenant, b.History.Tenant = "red", "red"
	s := stateOf(0, 8, 0, a, b)
	s.Tenants = map[string]data.Tenant{"red": {Quota: map[string]int{types[0]: 3}}}
	got, err := DL2{Net: oneFeature(3, 1)}.Allocate(s)
	if err != nil || !slices.Equal(got.Choice, []int{1, 0}) {
		t.Errorf("%v, %v", got.Choice, err)
	}
}

// The weights that were learned prefer, as anybody would, a short job to a long
// one and a large gain to none.
func TestDL2Learned(t *testing.T) {
	got, err := DL2{}.Allocate(stateOf(0, 1, 0, growing("long", 100_000, 1), growing("short", 300, 1)))
	if err != nil || !slices.Equal(got.Choice, []int{-1, 0}) {
		t.Errorf("%v, %v", got.Choice, err)
	}
	got, err = DL2{}.Allocate(stateOf(0, 5, 0, growing("flat", 3600, 1, 1.02, 1.03), growing("steep", 3600, 1, 2, 4)))
	if err != nil || !slices.Equal(got.Choice, []int{0, 2}) {
		t.Errorf("%v, %v", got.Choice, err)
	}
}
