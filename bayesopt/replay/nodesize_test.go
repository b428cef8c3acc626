package replay

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"knee/bayesopt"
	"knee/data"
	"knee/profile"
)

// nodeSize is a study of workers and batches on a cluster whose network is slow beyond a
// number of workers that nothing but trials tells.
func nodeSize(seed int64) (*Table, error) {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6e6f6465))
	var workers []string
	for _, n := range []int{1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64} {
		workers = append(workers, strconv.Itoa(n))
	}
	node := []float64{8, 16, 24, 32}[rng.IntN(4)]
	fast, slow, gradient, latency := between(rng, 2e10, 2e11), between(rng, 1e9, 5e9), between(rng, 3e8, 2e9), between(rng, 3e-5, 1e-3)
	fixed, perSample := between(rng, .01, .06), between(rng, 6e-4, 6e-3)
	var ms []data.Measurement
	for _, c := range space(map[string][]string{"workers": workers, "local_batch": {"8", "16", "32", "64"}}, "workers", "local_batch") {
		n, seconds := float64(c.Workers), fixed+perSample*c.LocalBatch
		switch {
		case n > node:
			seconds += 2*(n-1)/n*gradient/slow + latency*n
		case n > 1:
			seconds += 2*(n-1)/n*gradient/fast + latency*n
		}
		ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: seconds})
	}
	return NewStepTable(fmt.Sprintf("node-%d", seed), ms, Steps{Window: 60, Forms: profile.SpeedForms(),
		Price: func(c data.Config) float64 { return float64(c.Workers) }, Efficiency: func(float64) float64 { return 1 }})
}

// BenchmarkNodeSize searches b.N such studies for the highest throughput in 16 trials, with
// the speed model asked before a search ends, without, and at random:
//
//	go test ./bayesopt/replay -run '^$' -bench NodeSize -benchtime 40x
func BenchmarkNodeSize(b *testing.B) {
	for name, second := range map[string]bayesopt.JointModel{"random": nil, "alone": nil, "asked": profile.SpeedModel(data.Architecture{}, 1)} {
		b.Run(name, func(b *testing.B) {
			strategy, seeds := "guided", 1
			if name == "random" {
				strategy, seeds = "random", 20 // one seed draws the same rows of every table
			}
			var total Score
			var stopped, right float64
			for seed := range int64(b.N) {
				t, err := nodeSize(seed)
				if err != nil {
					b.Fatal(err)
				}
				t.Model = second
				s, err := t.Try(b.Context(), strategy, Goal{Time: true, Noise: .02}, 16, seeds)
				if err != nil {
					b.Fatal(err)
				}
				total.Evals += s.Evals / float64(b.N)
				total.StopEvals += s.StopEvals / float64(b.N)
				if s.StopEvals < 16 {
					stopped, right = stopped+1, right+s.StopWithin5
				}
			}
			b.ReportMetric(total.Evals, "evals-to-5%")
			b.ReportMetric(total.StopEvals, "ends-after")
			b.ReportMetric(stopped, "stopped")
			b.ReportMetric(right, "right")
			b.ReportMetric(0, "ns/op")
		})
	}
}
