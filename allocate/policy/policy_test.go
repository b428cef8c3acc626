package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// job makes a state whose goodput is the square root of the workers.
func job(name string, submitted float64, requested, current int, left float64, sizes ...int) allocate.JobState {
	j := allocate.JobState{Name: name, Submitted: submitted, Requested: requested, Current: current, Remaining: left}
	for _, w := range sizes {
		c := data.Config{GPUType: "t4", Workers: w}
		g := 1.0
		for g*g < float64(w) {
			g += 0.25
		}
		j.Options = append(j.Options, allocate.Option{
			Value: g, Use: allocate.UseOf(c, data.Resources{}),
			Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: g}, TimeToTarget: data.Estimate{Mean: left / g}},
		})
	}
	return j
}

func state(gpus int, jobs ...allocate.JobState) allocate.State {
	return allocate.State{Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n", GPUType: "t4", GPUs: gpus}}}, Jobs: jobs}
}

func TestPolicies(t *testing.T) {
	s := state(4,
		job("late", 5, 1, -1, 10, 1, 2, 4),
		job("wide", 1, 4, -1, 100, 1, 2, 4),
		job("runs", 0, 2, 1, 1000, 1, 2, 4))
	for _, tt := range []struct {
		policy string
		want   []int
	}{
		{"fifo", []int{-1, -1, 1}},         // wide does not fit beside what runs, and blocks
		{"fifo-backfill", []int{0, -1, 1}}, // late passes it
		{"srtf", []int{0, -1, 1}},          // late, then wide does not fit, then runs
		{"even", []int{0, 0, 1}},           // one each; the first that can take two more does
	} {
		p, err := policy.New(tt.policy)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Allocate(s)
		if err != nil {
			t.Fatal(err)
		}
		if tt.policy == "even" {
			if used := workers(s, a); used != 4 || slices.Contains(a.Choice, -1) {
				t.Errorf("even: %v uses %d of 4 GPUs, want everyone running on all", a.Choice, used)
			}
			continue
		}
		if !slices.Equal(a.Choice, tt.want) {
			t.Errorf("%s: %v, want %v", tt.policy, a.Choice, tt.want)
		}
	}
}

func workers(s allocate.State, a allocate.Assignment) int {
	n := 0
	for i, c := range a.Choice {
		if c >= 0 {
			n += s.Jobs[i].Options[c].Use.GPUs
		}
	}
	return n
}

// TestNoPolicyOversteps: on any state, every policy's answer fits the
// cluster, is the same twice, and leaves no job out that would still fit as
// it asked (except behind a blocked head of a strict queue).
func TestNoPolicyOversteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []allocate.JobState
		for i := range rapid.IntRange(0, 6).Draw(t, "jobs") {
			sizes := []int{1, 2, 3, 4}[rapid.IntRange(0, 3).Draw(t, "smallest"):]
			cur := rapid.IntRange(-1, len(sizes)-1).Draw(t, "current")
			jobs = append(jobs, job(fmt.Sprint(i), float64(i), rapid.IntRange(0, 5).Draw(t, "asked"), cur, float64(rapid.IntRange(0, 99).Draw(t, "left")), sizes...))
		}
		s := state(rapid.IntRange(1, 9).Draw(t, "gpus"), jobs...)
		for _, name := range policy.Names() {
			p, err := policy.New(name)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Allocate(s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := a.Check(s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b, err := p.Allocate(s)
			if err != nil || !slices.Equal(a.Choice, b.Choice) {
				t.Fatalf("%s: %v, then %v (%v)", name, a.Choice, b.Choice, err)
			}
			free := s.Cluster.Nodes[0].GPUs - workers(s, a)
			for i, c := range a.Choice {
				if c < 0 && name != "fifo" && s.Jobs[i].Options[0].Use.GPUs <= free && (name == "even" || strings.HasPrefix(name, "marg")) {
					t.Fatalf("%s: job %d waits with %d GPUs free", name, i, free)
				}
			}
		}
	})
}

func TestUnknownPolicyListsTheKnown(t *testing.T) {
	_, err := policy.New("best")
	if err == nil || !strings.Contains(err.Error(), "fifo, fifo-backfill, ") {
		t.Errorf("error %v", err)
	}
}

func ExampleNew() {
	p, err := policy.New("srtf")
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := p.Allocate(state(4, job("long", 0, 3, -1, 900, 1, 2, 3), job("short", 1, 2, -1, 60, 1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Choice)
	// Output: [-1 1]
}
