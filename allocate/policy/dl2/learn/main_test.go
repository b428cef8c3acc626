package main

import (
	"math/rand/v2"
	"testing"
)

// A little learning makes completion times much shorter than first come first
// served does, on worlds that nothing was learned from.
func TestLearns(t *testing.T) {
	learned, err := learn(25, 7)
	if err != nil {
		t.Fatal(err)
	}
	var own, fifo float64
	for i := range 12 {
		w := kinds()[2].draw(rand.New(rand.NewPCG(9, uint64(i))))
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
