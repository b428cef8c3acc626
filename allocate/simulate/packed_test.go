package simulate

import (
	"fmt"
	"math"
	"testing"

	"knee/allocate/policy"
	"knee/fit/interference"

	"pgregory.net/rapid"
)

// TestPackedByHand: on one GPU two jobs of 1800 and 3600 s run beside each other
// at 0.8 of their speed. The short one ends at 1800/0.8 = 2250 s; the other has
// 1800 s to go then, alone. Where packing halves both it is no better than
// turns, of 360 or of 60 s.
func TestPackedByHand(t *testing.T) {
	c := cluster(1, 1)
	a, b := rigid(c, "a", 0, 1, 1800), rigid(c, "b", 0, 1, 3600)
	a.Application, b.Application = "x", "y"
	for _, tt := range []struct {
		policy string
		share  float64
		ends   []float64
	}{
		{"gavel-maxmin", 0.8, []float64{2250, 4050}}, {"gavel-maxmin", 0.5, []float64{3240, 5400}},
		{"gandiva", 0.8, []float64{2250, 4050}}, {"gandiva", 0.5, []float64{3540, 5400}},
	} {
		pairs := NewPairs([]interference.Row{{Job: "x", Beside: "y", GPUType: "t4", Share: tt.share}, {Job: "y", Beside: "x", GPUType: "t4", Share: tt.share}}, nil, 1)
		r, err := Run([]Job{a, b}, Settings{Cluster: c, Policy: mustPolicy(t, tt.policy), Rules: Rules{Packed: pairs, Interval: policy.Round(tt.policy)}})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range r.Jobs {
			if math.Abs(o.End-tt.ends[i]) > 1e-6 || o.Restarts > 0 && tt.share > 0.5 {
				t.Errorf("%s, share %g: %s ends at %g s after %d restarts, want %g", tt.policy, tt.share, o.Job, o.End, o.Restarts, tt.ends[i])
			}
		}
		if got := 3600 * r.Summary.GPUHours; math.Abs(got-tt.ends[1]) > 1e-6 {
			t.Errorf("share %g: %g GPU-seconds held, want %g", tt.share, got, tt.ends[1])
		}
	}
}

// TestPackedIsSound: with any speeds beside each other every job ends, no sooner
// than alone, and no more GPUs are held than there are, failures or not.
func TestPackedIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cluster(2, 2)
		var rows []interference.Row
		share := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.3, 1))
		for i := range 3 {
			for j := range 3 {
				if rapid.Bool().Draw(t, "measured") {
					rows = append(rows, interference.Row{Job: fmt.Sprint(i), Beside: fmt.Sprint(j), GPUType: "t4", Share: share.Draw(t, "share")})
				}
			}
		}
		var jobs []Job
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := rigid(c, fmt.Sprint(i), float64(rapid.IntRange(0, 3000).Draw(t, "submit")), rapid.IntRange(1, 2).Draw(t, "workers"), float64(rapid.IntRange(100, 5000).Draw(t, "seconds")))
			j.Application = fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "application"))
			jobs = append(jobs, j)
		}
		set := Settings{Cluster: c, Rules: Rules{Packed: NewPairs(rows, nil, 1), Interval: 360, RestartSeconds: 5, Checkpoint: 60},
			Policy: mustPolicy(t, rapid.SampledFrom([]string{"gavel-maxmin", "gavel-ftf", "gavel-makespan", "gandiva"}).Draw(t, "policy"))}
		if rapid.Bool().Draw(t, "fails") {
			set.Failures = []Failure{{Node: "n1", From: 700, To: 1500}}
		}
		set.Used = func(u Usage) {
			if u.GPUs > 4 || u.GPUs < 0 {
				t.Fatalf("%+v of 4 GPUs", u)
			}
		}
		r, err := Run(jobs, set)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range r.Jobs {
			if o.End-o.Start < jobs[i].Work*(1-1e-9) {
				t.Fatalf("%+v does %g s of work", o, jobs[i].Work)
			}
		}
		if r.Summary.Utilization > 1+1e-9 {
			t.Fatalf("%g of the GPUs are held", r.Summary.Utilization)
		}
	})
}
