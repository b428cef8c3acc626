package plan_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"

	"pgregory.net/rapid"
)

// TestEveryPolicyIsBounded: no plan of any policy is worth more than the bound,
// which is the same for all, nor, if it runs every job, than the running bound;
// and what a policy decides, once it runs, it decides again.
func TestEveryPolicyIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := plan.Draw(t)
		d.Now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		for i := range d.Jobs {
			account(t, &d.Jobs[i], d.Now)
		}
		bound := math.NaN()
		for _, name := range policy.Names() {
			p, err := policy.New(name)
			if err != nil {
				t.Fatal(err)
			}
			d := d
			d.Jobs = append([]data.Job(nil), d.Jobs...)
			made, err := d.Solve(p)
			var none *plan.Infeasible
			if errors.As(err, &none) {
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			d.Check(t, made)
			if made.Value > made.Bound || math.Abs(made.Bound-bound) > 1e-9*math.Abs(bound) {
				t.Fatalf("%s: value %.17g, bound %.17g, that of others %.17g", name, made.Value, made.Bound, bound)
			}
			bound = made.Bound
			running := true
			for _, j := range made.Jobs {
				running = running && (j.Action.Runs() || j.Worth == nil)
			}
			if running && made.Value > made.RunningBound {
				t.Fatalf("%s: value %.17g of a plan that runs every job, bound of those %.17g", name, made.Value, made.RunningBound)
			}
		}
	})
}

// account draws what a scheduler knows of a job.
func account(t *rapid.T, j *data.Job, now time.Time) {
	draw := func(name string, most float64) *float64 {
		v := rapid.Float64Range(0, most).Draw(t, name)
		return &v
	}
	j.Requested = rapid.IntRange(1, 4).Draw(t, "requested")
	j.Tenant = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant")
	j.Submitted = now.Add(-time.Duration(rapid.IntRange(1, 7200).Draw(t, "age")) * time.Second)
	restarts := rapid.IntRange(0, 3).Draw(t, "restarts")
	j.History = &data.History{GPUSeconds: draw("attained", 1e5), Seconds: draw("ran", 1e4), Progress: draw("progress", 1), Restarts: &restarts,
		ByType: map[string]float64{"t4": rapid.Float64Range(0, 1e4).Draw(t, "on t4")}}
}

// TestRestartsCount: no policy that weighs what a change costs restarts a job
// for days to have it run three times as fast for hours; all do if it costs
// nothing.
func TestRestartsCount(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, name := range []string{"marginal-gain", "optimus-greedy", "knee", "pollux", "sia"} {
		for restart, want := range map[float64]data.Action{0: data.Grow, 1e6: data.Keep} {
			p, err := policy.New(name)
			if err != nil {
				t.Fatal(err)
			}
			made, err := plan.Growing(now, restart).Solve(p)
			if err != nil {
				t.Fatal(err)
			}
			if got := made.Jobs[0].Action; got != want {
				t.Errorf("%s, a restart of %g s: %s, want %s", name, restart, got, want)
			}
		}
	}
}
