package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"knee/bayesopt"
	"knee/data"
	"knee/profile"
)

// exchange is a study of step times at one global batch, in which three of four
// knobs act on communication only: its size, its calls and their algorithm.
func exchange(seed int64) (*Table, error) {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x65786368))
	cands := space(map[string][]string{"workers": {"1", "2", "4", "8", "16", "32"}, "bits": {"32", "8", "2", "0.5"}, "chunk": {"1", "8", "64"},
		"algorithm": {"ring", "tree"}, "graph": {"0", "1"}}, "workers", "bits", "chunk", "algorithm", "graph")
	perSample, fixed := between(rng, 1e-4, 2e-3), between(rng, 2e-3, 0.05)
	node, inside, slower := float64(int(2)<<rng.IntN(3)), between(rng, 5e-3, 2), between(rng, 1, 20)
	hidden, latency, encode := 0.9*rng.Float64(), between(rng, 1e-5, 1e-2), between(rng, 1e-4, 0.05)
	graph, tree := between(rng, 0.6, 1.1), between(rng, 0.65, 2)
	var ms []data.Measurement
	for _, c := range cands {
		n, bits, calls := float64(c.Workers), knobOf(c, "bits"), 64/knobOf(c, "chunk")
		c.LocalBatch = 512 / n
		work := fixed + perSample*c.LocalBatch
		if c.Extra["graph"] == "1" {
			work -= fixed * (1 - graph)
		}
		sync := 2 * (n - 1) / n * inside * bits / 32
		if n > node {
			sync *= slower
		}
		if c.Extra["algorithm"] == "tree" {
			sync = sync*tree + latency*calls*math.Log2(n)
		} else {
			sync += latency * calls * (n - 1) / 4
		}
		if n > 1 && bits < 16 {
			work += encode
		}
		seconds := work + max(0, sync-hidden*work*(1-1/calls)) // the last call overlaps with nothing
		ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: seconds})
	}
	t, err := NewStepTable(fmt.Sprintf("exchange-%d", seed), ms, Steps{Window: 60, Forms: profile.SpeedForms(),
		Price: func(c data.Config) float64 { return float64(c.Workers) }, Efficiency: func(float64) float64 { return 1 }})
	return t, err
}

// BenchmarkExchange learns Constants.RampShare: it searches b.N studies of knobs
// of communication, and as many with other knobs, for the highest throughput in
// 14 trials, with each of several values and at random:
//
//	go test ./bayesopt/replay -run '^$' -bench Exchange -benchtime 40x
func BenchmarkExchange(b *testing.B) {
	for name, study := range map[string]func(int64) (*Table, error){"exchange": exchange, "steps": steps} {
		for _, method := range []string{"random", "0", "0.5", "0.8", "1"} {
			b.Run(name+"/"+method, func(b *testing.B) {
				goal, strategy, seeds := Goal{Time: true, Noise: 0.01}, method, 20 // one seed draws the same rows of every table
				if c := bayesopt.LearnedConstants(); method != "random" {
					_, _ = fmt.Sscan(method, &c.RampShare)
					goal.Constants, strategy, seeds = &c, "guided", 1
				}
				var evals, regret float64
				for seed := range int64(b.N) {
					t, err := study(3000 + seed)
					if err != nil {
						b.Fatal(err)
					}
					s, err := t.Try(b.Context(), strategy, goal, 14, seeds)
					if err != nil {
						b.Fatal(err)
					}
					evals, regret = evals+s.Evals/float64(b.N), regret+s.Regret20/float64(b.N)
				}
				b.ReportMetric(evals, "evals-to-5%")
				b.ReportMetric(100*regret, "%regret")
			})
		}
	}
}
