package dl2_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"knee/allocate"
	"knee/allocate/policy/dl2"
	"knee/data"
	"knee/predict"
)

// job runs on 1, 2 and 4 GPUs at the speeds given.
func job(name string, remaining float64, speeds ...float64) allocate.JobState {
	j := allocate.JobState{Name: name, Current: -1, Remaining: remaining}
	for k, v := range speeds {
		c := data.Config{GPUType: "t4", Workers: 1 << k}
		j.Options = append(j.Options, allocate.Option{Config: c, Use: allocate.UseOf(c, data.Resources{}), Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: v}}})
	}
	return j
}

func state(gpus int, jobs ...allocate.JobState) allocate.State {
	return allocate.State{Jobs: jobs, Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: gpus}}}}
}

// only looks at one feature, and at whether it stands still, which scores zero.
func only(feature int, by float64) *dl2.Net {
	row := make([]float64, dl2.Features+1)
	row[feature] = by
	return &dl2.Net{Hidden: [][]float64{row}, Out: []float64{1}}
}

// The gain per GPU of the steps of a is 1, .2 and .1, that of b 1, .8 and .5,
// that of c 1, −.1 and 0.
func TestByHand(t *testing.T) {
	a, b, c := job("a", 100, 1, 1.2, 1.4), job("b", 100, 1, 1.8, 2.8), job("c", 100, 1, .9, .9)
	const gain = 3
	for _, tt := range []struct {
		gpus int
		net  *dl2.Net
		want []int
		why  string
	}{
		{2, only(gain, 1), []int{0, 0, -1}, "everyone gets one first, in order of submission"},
		{4, only(gain, 1), []int{0, 1, 0}, "the fourth goes where it brings .8"},
		{7, only(gain, 1), []int{1, 2, 0}, ".5 per GPU for b, then .2 for a; .1 does not fit"},
		{16, only(gain, 1), []int{2, 2, 0}, "c would lose, and standing still is better"},
		{16, only(gain, -1), []int{0, -1, -1}, "while nobody runs somebody starts"},
	} {
		got, err := dl2.Policy{Net: tt.net}.Allocate(state(tt.gpus, a, b, c))
		if err != nil || !slices.Equal(got.Choice, tt.want) {
			t.Errorf("%d GPUs: %v, %v; want %v: %s", tt.gpus, got.Choice, err, tt.want, tt.why)
		}
	}
}

func TestQuotas(t *testing.T) {
	a, b := job("a", 100, 1, 2, 4), job("b", 100, 1, 2, 4)
	a.History.Tenant, b.History.Tenant = "red", "red"
	s := state(8, a, b)
	s.Tenants = map[string]allocate.Tenant{"red": {Quota: map[string]int{"t4": 3}}}
	got, err := dl2.Policy{Net: only(3, 1)}.Allocate(s)
	if err != nil || !slices.Equal(got.Choice, []int{1, 0}) {
		t.Errorf("%v, %v", got.Choice, err)
	}
}

// The weights that were learned prefer, as anybody would, a short job to a long
// one and a large gain to none.
func TestLearned(t *testing.T) {
	got, err := dl2.Policy{}.Allocate(state(1, job("long", 100_000, 1), job("short", 300, 1)))
	if err != nil || !slices.Equal(got.Choice, []int{-1, 0}) {
		t.Errorf("%v, %v", got.Choice, err)
	}
	got, err = dl2.Policy{}.Allocate(state(5, job("flat", 3600, 1, 1.02, 1.03), job("steep", 3600, 1, 2, 4)))
	if err != nil || !slices.Equal(got.Choice, []int{0, 2}) {
		t.Errorf("%v, %v", got.Choice, err)
	}
}

func TestDerive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	net, gradient := dl2.NewNet(5, rng), dl2.NewNet(5, rng)
	x := make([]float64, dl2.Features)
	for k := range x {
		x[k] = rng.NormFloat64()
	}
	for u := range net.Out {
		net.Out[u] = rng.NormFloat64()
		clear(gradient.Hidden[u])
	}
	clear(gradient.Out)
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
	for u := range net.Out {
		check(&net.Out[u], gradient.Out[u])
		for k := range net.Hidden[u] {
			check(&net.Hidden[u][k], gradient.Hidden[u][k])
		}
	}
}
