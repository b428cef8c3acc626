package policy

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"knee/allocate"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// TestTradeHarmsNobody: whatever the gains and demands, all GPUs are dealt to
// who asks for them, none is made or lost by trading, and no user ends below
// what its tickets were worth to it.
func TestTradeHarmsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := []float64{float64(rapid.IntRange(1, 20).Draw(t, "slow")), float64(rapid.IntRange(1, 20).Draw(t, "fast"))}
		var users []*user
		for range rapid.IntRange(1, 5).Draw(t, "users") {
			users = append(users, &user{tickets: float64(rapid.IntRange(1, 4).Draw(t, "tickets")), demand: float64(rapid.IntRange(1, 40).Draw(t, "demand")),
				gain: []float64{1, rapid.Float64Range(1, 6).Draw(t, "gain")}, due: make([]float64, 2)})
		}
		entitle(users, room)
		worth := func(u *user) float64 { return u.due[0]*u.gain[0] + u.due[1]*u.gain[1] }
		before, dealt := make([]float64, len(users)), []float64{0, 0}
		for n, u := range users {
			before[n] = worth(u)
			dealt[0], dealt[1] = dealt[0]+u.due[0], dealt[1]+u.due[1]
			if floats.Sum(u.due) > u.demand+1e-9 {
				t.Fatalf("user %d is due %v of a demand of %g", n, u.due, u.demand)
			}
		}
		trade(users, 1, 0)
		after := []float64{0, 0}
		for n, u := range users {
			after[0], after[1] = after[0]+u.due[0], after[1]+u.due[1]
			if worth(u) < before[n]*(1-1e-9) || u.due[0] < -1e-9 || u.due[1] < -1e-9 || floats.Sum(u.due) > u.demand+1e-6 {
				t.Fatalf("user %d: worth %g before, %g after, due %v of a demand of %g", n, before[n], worth(u), u.due, u.demand)
			}
		}
		for k := range after {
			if math.Abs(after[k]-dealt[k]) > 1e-6 {
				t.Fatalf("%g GPUs of type %d before, %g after", dealt[k], k, after[k])
			}
		}
	})
}

// TestTradeByHand: three users with a slow and a fast GPU each gain 1.2, 4 and 2
// from a fast one. The price is the second-highest gain, 2 slow GPUs: the second
// user buys half a fast one of the first for its slow one, and then nobody whose
// gain is above a price has slow GPUs left but the third, who would pay the
// 1.2 that the first asks.
func TestTradeByHand(t *testing.T) {
	var users []*user
	for _, gain := range []float64{1.2, 4, 2} {
		users = append(users, &user{gain: []float64{1, gain}, due: []float64{1, 1}, demand: 10})
	}
	trade(users, 1, 0)
	for n, want := range [][]float64{{2.6, 0}, {0, 1.5}, {0.4, 1.5}} {
		if d := users[n].due; math.Abs(d[0]-want[0]) > 1e-9 || math.Abs(d[1]-want[1]) > 1e-9 {
			t.Errorf("user %d is due %v, want %v", n, d, want)
		}
	}
}

// TestStride: of two users with tickets 2 and 1 and plenty of jobs of one GPU
// on 3 GPUs, one holds 2 and the other 1 at every round.
func TestStride(t *testing.T) {
	g := &GandivaFair{}
	s := allocate.State{Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: 3}}}}
	for i := range 8 {
		c := data.Config{GPUType: "t4", Workers: 1}
		j := allocate.JobState{Name: fmt.Sprint(i), Current: -1, Requested: 1, Weight: float64(2 - i%2),
			Options: []allocate.Option{{Use: allocate.UseOf(c, data.Resources{}), Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: 1}}}}}
		j.History.Tenant = []string{"a", "b"}[i%2]
		s.Jobs = append(s.Jobs, j)
	}
	held := map[string]int{}
	for round := range 30 {
		s.Now = float64(round) * sliceRound
		a, err := g.Allocate(s)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range a.Choice {
			if c >= 0 {
				held[s.Jobs[i].History.Tenant]++
				s.Jobs[i].History.Ran += sliceRound
			}
		}
	}
	if held["a"] != 60 || held["b"] != 30 {
		t.Errorf("rounds held: %v, want 60 and 30", held)
	}
	for i := range s.Jobs { // and within a user all alike
		if want := []float64{15, 7.5}[i%2]; math.Abs(s.Jobs[i].History.Ran/sliceRound-want) > 0.6 {
			t.Errorf("job %d ran %g rounds, want %g", i, s.Jobs[i].History.Ran/sliceRound, want)
		}
	}
}
