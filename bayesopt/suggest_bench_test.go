package bayesopt

import (
	"fmt"
	"math"
	"testing"

	"knee/data"
)

// wide is a table of n candidates, five to a hundred thousand, over workers,
// placement, batch, accumulation and two GPU types.
func wide(n int) []data.Config {
	var cands []data.Config
	for _, gpu := range []string{"a100", "t4"} {
		for nodes := 1; nodes <= 16; nodes++ {
			for per := 1; per <= 8; per++ {
				for accum := range 4 {
					for b := range 100 {
						if len(cands) == n {
							return cands
						}
						cands = append(cands, data.Config{GPUType: gpu, Nodes: nodes, Workers: nodes * per, AccumSteps: accum, LocalBatch: float64(8 + 4*b)})
					}
				}
			}
		}
	}
	return cands
}

// BenchmarkSuggestion is one suggestion after 40 measurements, the larger half of
// the batches of which ran out of memory in the second turn:
//
//	go test ./bayesopt -run '^$' -bench Suggestion -benchtime 10x
func BenchmarkSuggestion(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		for _, most := range []float64{math.Inf(1), 200} {
			b.Run(fmt.Sprintf("%d/batches to %g", n, most), func(b *testing.B) {
				h := History{Candidates: wide(n)}
				for k := range 40 {
					m := measure(h.Candidates[k*n/41])
					if m.LocalBatch > most {
						m = data.Measurement{Config: m.Config, Status: data.OOM}
					}
					h.Measured = append(h.Measured, m)
				}
				s, err := NewGuided(Options{Objective: Throughput, KeepGoing: true, Noisy: true})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := s.Next(h); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
