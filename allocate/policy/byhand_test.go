package policy_test

import (
	"slices"
	"testing"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/data"
)

// TestByHand: on one node of t4, jobs whose speed is 1, 1.5, 1.75 and 2 on 1, 2,
// 3 and 4 GPUs, as computed by hand.
func TestByHand(t *testing.T) {
	accounts := func(j allocate.JobState, tenant string, attained, progress float64) allocate.JobState {
		j.History.Tenant, j.Attained, j.History.Progress = tenant, attained, progress
		return j
	}
	short, long := job("short", 0, 0, -1, 600, 1, 2, 4), job("long", 0, 0, -1, 60000, 1, 2, 4)
	for _, tt := range []struct {
		policy string
		why    string
		gpus   int
		jobs   []allocate.JobState
		want   []int
	}{
		{"sjf", "what runs runs on, the shortest of the others fits beside it", 4,
			[]allocate.JobState{job("late", 5, 1, -1, 10, 1, 2, 4), job("wide", 1, 4, -1, 100, 1, 2, 4), job("runs", 0, 2, 1, 1000, 1, 2, 4)}, []int{0, -1, 1}},
		{"drf", "a has half, so b is next, and then the second of a does not fit", 4,
			[]allocate.JobState{accounts(job("a1", 0, 2, -1, 9, 2), "a", 0, 0), accounts(job("a2", 1, 2, -1, 9, 2), "a", 0, 0), accounts(job("b1", 2, 1, -1, 9, 1), "b", 0, 0)}, []int{0, -1, 0}},
		{"drf", "what can never run is passed over", 4,
			[]allocate.JobState{accounts(job("never", 0, 8, -1, 9), "a", 0, 0), accounts(job("a", 1, 1, -1, 9, 1), "a", 0, 0)}, []int{-1, 0}},
		{"tetris", "3 of 4 GPUs align better than 2, but 571 s of them weigh more than 7 s", 4,
			[]allocate.JobState{job("wide", 0, 3, -1, 1000, 3), job("quick", 1, 2, -1, 10, 2)}, []int{-1, 0}},
		{"tetris", "of two as short the one that fills more comes first", 4,
			[]allocate.JobState{job("narrow", 0, 2, -1, 10, 2), job("wide", 1, 3, -1, 10, 3)}, []int{-1, 0}},
		{"e-las", "100 GPU-seconds of a job done to nine tenths count as 10, less than 20", 2,
			[]allocate.JobState{accounts(job("new", 0, 2, -1, 99, 2), "", 20, 0), accounts(job("nearly", 1, 2, -1, 99, 2), "", 100, 0.9)}, []int{-1, 0}},
		{"sia", "1.1 − v^−½ is 0.10, 0.28 and 0.39 for 1, 2 and 4 workers: two and two", 4, []allocate.JobState{short, long}, []int{1, 1}},
		{"pollux", "−1/x is −1.5, −1 and −0.75 for 1, 2 and 4 workers: two and two", 4, []allocate.JobState{short, long}, []int{1, 1}},
		{"optimus", "60000 s fall by a third with a second GPU and by a sixth with two more; 600 s hardly", 5, []allocate.JobState{short, long}, []int{0, 2}},
		{"optimus-greedy", "speed rises by ½ with a second GPU of either, by ¼ per further GPU", 5, []allocate.JobState{short, long}, []int{1, 1}},
		{"marginal-gain", "as good as 4 and 1, which wins no tie", 4, []allocate.JobState{short, long}, []int{1, 1}},
		{"knee", "a GPU more is worth 10 times as much to a job of a hundredth of the time", 3, []allocate.JobState{long, short}, []int{0, 1}},
	} {
		p, err := policy.New(tt.policy)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Allocate(state(tt.gpus, tt.jobs...))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Choice, tt.want) {
			t.Errorf("%s: %v, want %v: %s", tt.policy, a.Choice, tt.want, tt.why)
		}
	}
}

// TestQuotaHoldsUnderEveryPolicy: of two jobs of a tenant that may have one GPU of
// four at most one runs.
func TestQuotaHoldsUnderEveryPolicy(t *testing.T) {
	s := state(4, job("a1", 0, 1, -1, 600, 1), job("a2", 1, 1, -1, 600, 1), job("b", 2, 1, -1, 600, 1))
	s.Tenants = map[string]data.Tenant{"a": {Name: "a", Quota: map[string]int{"t4": 1}}}
	s.Jobs[0].History.Tenant, s.Jobs[1].History.Tenant = "a", "a"
	for _, name := range policy.Names() {
		p, err := policy.New(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Allocate(s)
		if err == nil {
			err = a.Check(s)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGavelTakesTurns: of two equal jobs on one GPU the one that has had a round
// waits for the next.
func TestGavelTakesTurns(t *testing.T) {
	for _, name := range []string{"gavel-maxmin", "gavel-ftf", "gavel-makespan"} {
		p, err := policy.New(name)
		if err != nil {
			t.Fatal(err)
		}
		s := state(1, job("a", 0, 1, -1, 7200, 1), job("b", 0, 1, -1, 7200, 1))
		for round, want := range [][]int{{0, -1}, {-1, 0}} {
			a, err := p.Allocate(s)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.Choice, want) {
				t.Errorf("%s, round %d: %v, want %v", name, round, a.Choice, want)
			}
			s.Now += 360
			j := &s.Jobs[0]
			j.History.Ran, j.History.ByType = 360, map[string]float64{"t4": 360}
			j.Remaining, j.Options[0].Answer.TimeToTarget.Mean = 6840, 6840
		}
	}
}

// TestBookedTimeIsKept: who was admitted keeps its slots when another comes,
// which has the GPU once the first is done.
func TestBookedTimeIsKept(t *testing.T) {
	for _, name := range []string{"oasis", "dps"} {
		p, err := policy.New(name)
		if err != nil {
			t.Fatal(err)
		}
		s := state(1, job("first", 0, 0, -1, 900, 1))
		for slot, want := range [][]int{{0}, {0, -1}, {0, -1}, {0}} {
			s.Now = float64(300 * slot)
			if slot == 1 {
				s.Jobs = append(s.Jobs, job("second", 300, 0, -1, 300, 1))
			}
			if slot == 3 { // the first is done
				s.Jobs = s.Jobs[1:]
			}
			a, err := p.Allocate(s)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.Choice, want) {
				t.Errorf("%s, slot %d: %v, want %v", name, slot, a.Choice, want)
			}
		}
	}
}
