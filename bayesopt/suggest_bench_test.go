package bayesopt

import (
	"fmt"
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

// BenchmarkSuggestion measures one suggestion after 40 measurements:
//
//	go test ./bayesopt -run '^$' -bench Suggestion -benchtime 10x
func BenchmarkSuggestion(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := History{Candidates: wide(n)}
			for k := range 40 {
				h.Measured = append(h.Measured, measure(h.Candidates[k*n/41]))
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
