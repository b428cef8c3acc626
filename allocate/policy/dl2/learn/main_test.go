package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"knee/allocate/policy"
	"knee/allocate/policy/dl2"
	"knee/allocate/simulate"
	"knee/internal/parallel"
)

// unknown are worlds of other kinds than those that dl2 learned from.
func unknown() []kind {
	ring := func(rng *rand.Rand) func(float64) float64 { // a gradient that crosses a ring of nodes of four
		inside, across := math.Exp(-1-5*rng.Float64()), math.Exp(-4*rng.Float64())
		return func(n float64) float64 {
			link := inside
			if n > 4 {
				link = across
			}
			return n / (1 + link*2*(n-1)/n)
		}
	}
	power := func(rng *rand.Rand) func(float64) float64 {
		p := 0.2 + 0.75*rng.Float64()
		return func(n float64) float64 { return math.Pow(n, p) }
	}
	tail := func(rng *rand.Rand) float64 { return 0.2 * math.Pow(rng.Float64(), -1/1.2) } // as of Pareto
	return []kind{
		{"rings across nodes, lognormal hours", ring, lognormal(1, 1.3), 1},
		{"powers, hours with a long tail", power, tail, 1},
		{"rings, lognormal hours, two types of GPUs", ring, lognormal(2, 1), 2},
		{"powers, a long tail, three types of GPUs", power, tail, 3},
	}
}

// by is the mean completion time under a policy by name, of dl2 with the network, nil
// for the embedded one.
func (w world) by(name string, net dl2.Net) (float64, error) {
	p, err := policy.New(name)
	if err != nil {
		return 0, err
	}
	if _, is := p.(policy.DL2); is {
		p = policy.DL2{Net: net}
	}
	outcomes, err := w.run(p)
	return simulate.Summarize(outcomes, 0).JCTMean, err
}

// A little learning makes completion times much shorter than first come first
// served does, on worlds that nothing was learned from.
func TestLearns(t *testing.T) {
	learned, err := learn(25, 7)
	if err != nil {
		t.Fatal(err)
	}
	var own, fifo float64
	for i := range 12 {
		w := unknown()[0].draw(rand.New(rand.NewPCG(9, uint64(i))))
		o, err := w.by("dl2", learned)
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.by("fifo", nil)
		if err != nil {
			t.Fatal(err)
		}
		own, fifo = own+o, fifo+f
	}
	if own > 0.8*fifo {
		t.Errorf("mean completion time %.0f s after learning, %.0f s with fifo", own/12, fifo/12)
	}
}

// BenchmarkScore prints mean completion times relative to those of fifo, on 60 worlds
// of every kind from which nothing was learned.
func BenchmarkScore(b *testing.B) {
	const worlds = 60
	for b.Loop() {
		for n, k := range append(kinds(), unknown()...) {
			line := k.name + ":"
			for _, name := range []string{"dl2", "knee", "optimus", "sia", "pollux", "srtf", "fifo-backfill"} {
				ratios := make([]float64, worlds)
				err := parallel.Each(worlds, 1, func() func(int) error {
					return func(i int) error {
						w := k.draw(rand.New(rand.NewPCG(uint64(n), uint64(1_000_000+i))))
						fifo, err := w.by("fifo", nil)
						if err != nil {
							return err
						}
						took, err := w.by(name, nil)
						ratios[i] = took / fifo
						return err
					}
				})
				if err != nil {
					b.Fatal(err)
				}
				line += fmt.Sprintf(" %s %.3f", name, stat.Mean(ratios, nil))
			}
			b.Log(line)
		}
	}
}
