package bayesopt

import (
	"math"
	"testing"
)

// Trials of one GPU and its neighbours say nothing of sixteen: the search is sent
// there, and after minRecord such trials knows enough: each was farther than what is left.
func TestUntested(t *testing.T) {
	cands := table("a100")
	near := History{Candidates: cands}
	for _, i := range []int{0, 1, 4, 5, 2, 6, 3} { // one and two workers
		near.Measured = append(near.Measured, measure(cands[i]))
	}
	if i, untested := mustProblem(t, Options{}, near).untested(); !untested || cands[i].Workers != 16 {
		t.Errorf("after trials of one and two workers: untested %v, farthest %s; want 16 workers", untested, cands[i])
	}
	for n := 0; ; n++ {
		i, untested := mustProblem(t, Options{}, near).untested()
		if !untested {
			break
		}
		if n == minRecord {
			t.Fatalf("after %d tests %s is still said to be untested", n, cands[i])
		}
		near.Measured = append(near.Measured, measure(cands[i]))
	}
}

// Of draws that share the weight evenly with one that has half of it, the sample
// holds about as many as are their due.
func TestFairSample(t *testing.T) {
	draws := []weighted{{form: 1, logged: math.Log(100)}}
	for range 100 {
		draws = append(draws, weighted{})
	}
	heavy, sample := 0, fairSample(draws, 64)
	for _, w := range sample {
		heavy += w.form
	}
	if len(sample) != 64 || heavy < 31 || heavy > 33 {
		t.Errorf("%d of %d are the draw of half the weight, want 32 of 64", heavy, len(sample))
	}
	if n := effective(draws); math.Abs(n-200*200/10100.) > 1e-9 {
		t.Errorf("draws worth %g, want %g", n, 200*200/10100.)
	}
}
