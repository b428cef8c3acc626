package policy_test

import (
	"fmt"
	"math"
	"testing"

	"knee/allocate"
	"knee/allocate/policy"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// work is a job of a small replay: minutes of work on one GPU, on as many GPUs
// as speeds it has, and its weight.
type work struct {
	arrives, left, weight float64
	speed                 []float64 // by GPUs − 1
}

// replay runs jobs under a policy in steps of half a minute and returns the sum
// of weighted completion times in minutes.
func replay(t rapid.TB, p allocate.Policy, gpus int, jobs []work) (sum float64) {
	const step = 0.5
	left := make([]float64, len(jobs))
	for i := range jobs {
		left[i] = jobs[i].left
	}
	for now, running := 0.0, len(jobs); running > 0; now += step {
		if now > 1e4 {
			t.Fatal("jobs do not end")
		}
		s := state(gpus)
		s.Now = 60 * now
		var who []int
		for i, j := range jobs {
			if left[i] <= 0 || j.arrives > now {
				continue
			}
			x := allocate.JobState{Name: fmt.Sprint(i), Submitted: 60 * j.arrives, Current: -1, Weight: j.weight, Remaining: 60 * left[i] / j.speed[0]}
			for n, v := range j.speed {
				c := data.Config{GPUType: "t4", Workers: n + 1}
				x.Options = append(x.Options, allocate.Option{Use: allocate.UseOf(c, data.Resources{}),
					Answer: predict.Answer{Config: c, Goodput: data.Estimate{Mean: v}, TimeToTarget: data.Estimate{Mean: 60 * left[i] / v}}})
			}
			s.Jobs, who = append(s.Jobs, x), append(who, i)
		}
		a, err := p.Allocate(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(s); err != nil {
			t.Fatal(err)
		}
		for k, c := range a.Choice {
			if i := who[k]; c >= 0 {
				if left[i] -= jobs[i].speed[c] * step; left[i] <= 1e-9 {
					left[i], sum, running = 0, sum+jobs[i].weight*(now+step), running-1
				}
			}
		}
	}
	return sum
}

// least is the smallest sum of weighted completion times of any schedule of
// gangs that run without a break: every order of jobs and every option, each
// begun as early as those before leave GPUs.
func least(gpus int, jobs []work) float64 {
	best := math.Inf(1)
	type span struct{ from, to, gpus float64 }
	var try func(rest []int, placed []span, sum float64)
	try = func(rest []int, placed []span, sum float64) {
		if len(rest) == 0 {
			best = math.Min(best, sum)
		}
		for k, i := range rest {
			others := append(append([]int(nil), rest[:k]...), rest[k+1:]...)
			for n, v := range jobs[i].speed {
				run, g := jobs[i].left/v, float64(n+1)
				fits := func(from float64) bool {
					for _, at := range append([]span{{from: from}}, placed...) {
						used, moment := 0.0, math.Max(at.from, from)
						for _, p := range placed {
							if p.from <= moment && moment < p.to {
								used += p.gpus
							}
						}
						if moment < from+run && used+g > float64(gpus) {
							return false
						}
					}
					return true
				}
				from := math.Inf(1)
				for _, at := range append([]span{{to: jobs[i].arrives}}, placed...) {
					if begin := math.Max(at.to, jobs[i].arrives); begin < from && fits(begin) {
						from = begin
					}
				}
				try(others, append(placed[:len(placed):len(placed)], span{from, from + run, g}), sum+jobs[i].weight*(from+run))
			}
		}
	}
	var all []int
	for i := range jobs {
		all = append(all, i)
	}
	try(all, nil, 0)
	return best
}

// TestAOnlineByHand: one GPU, and jobs of 1, 2 and 4 minutes of weights 1, 10 and
// 1. Only the first fits the first window, of a minute, and is chosen. The second
// runs in the second window, of another minute, as nobody who is chosen wants it,
// and is chosen in the third for the minute that is left, then the last: 1 + 10·3 +
// 7. Who knew all would begin with the second job: 10·2 + 3 + 7.
func TestAOnlineByHand(t *testing.T) {
	one := []float64{1}
	jobs := []work{{left: 1, weight: 1, speed: one}, {left: 2, weight: 10, speed: one}, {left: 4, weight: 1, speed: one}}
	if got := replay(t, &policy.AOnline{}, 1, jobs); math.Abs(got-38) > 1e-9 {
		t.Errorf("the sum is %g, want 38", got)
	}
	if got := least(1, jobs); math.Abs(got-30) > 1e-9 {
		t.Errorf("the least is %g, want 30", got)
	}
}

// TestAOnlineIsCompetitive: the sum of weighted completion times is at most 8
// times the least, every schedule tried.
func TestAOnlineIsCompetitive(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		gpus := rapid.IntRange(1, 3).Draw(t, "gpus")
		var jobs []work
		for range rapid.IntRange(1, 4).Draw(t, "jobs") {
			j := work{arrives: float64(rapid.IntRange(0, 6).Draw(t, "arrives")), weight: float64(rapid.IntRange(1, 9).Draw(t, "weight"))}
			power := rapid.Float64Range(0, 1).Draw(t, "power")
			for n := range rapid.IntRange(1, gpus).Draw(t, "most") {
				j.speed = append(j.speed, math.Pow(float64(n+1), power))
			}
			j.left = float64(rapid.IntRange(1, 12).Draw(t, "minutes")) * j.speed[len(j.speed)-1]
			jobs = append(jobs, j)
		}
		got, best := replay(t, &policy.AOnline{}, gpus, jobs), least(gpus, jobs)
		if got > 8*best {
			t.Fatalf("sum %g, the least is %g", got, best)
		}
		worst = math.Max(worst, got/best)
	})
	t.Logf("at worst %.2f times the least", worst)
}
