package policy

import (
	"math"
	"slices"
	"testing"

	"knee/allocate"

	"pgregory.net/rapid"
)

// TestAlloXIsOptimal: on jobs of one GPU, the matching has the smallest sum of
// completion times that trying every schedule finds: serving who it starts
// first and going on in the best way costs no more than the best there is.
func TestAlloXIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []allocate.JobState
		for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
			jobs = append(jobs, gangOf(string(rune('a'+i)), float64(i), 1, float64(rapid.IntRange(1, 50).Draw(t, "slow")), float64(rapid.IntRange(1, 50).Draw(t, "fast"))))
		}
		s := stateOf(10, 1, 1, jobs...)
		q := newQueue(s)
		all := newGangs(q)
		order := make([]int, len(jobs))
		for i := range order {
			order[i] = i
		}
		machines := all.machines(q, order)
		if len(machines) != 2 || machines[0].busy != 0 {
			t.Fatalf("machines %+v, want two free ones", machines)
		}
		best := fewest(jobs, order, [2]float64{})
		var busy [2]float64
		var sum float64
		rest := slices.Clone(order)
		for at, job := range matched(all, order, machines) {
			if job < 0 {
				continue
			}
			k := machines[at].kind
			busy[k] = optionTime(&jobs[job], k)
			sum += busy[k]
			rest = slices.DeleteFunc(rest, func(i int) bool { return i == job })
		}
		if got := sum + fewest(jobs, rest, busy); math.Abs(got-best) > 1e-9 {
			t.Fatalf("starts %+v, sum of completion times %g, the best is %g", matched(all, order, machines), got, best)
		}
	})
}

// fewest is the smallest sum of completion times of jobs on two machines that
// are busy for a while, by trying all orders.
func fewest(jobs []allocate.JobState, left []int, busy [2]float64) float64 {
	if len(left) == 0 {
		return 0
	}
	best := math.Inf(1)
	for n, i := range left {
		rest := slices.Delete(slices.Clone(left), n, n+1)
		for k := range busy {
			after := busy
			after[k] += optionTime(&jobs[i], k)
			best = min(best, after[k]+fewest(jobs, rest, after))
		}
	}
	return best
}

// TestAlloXFilter: of ten jobs that wait for one GPU the three oldest take part
// in the matching, so that a young short one does not pass them all, and what
// runs is not stopped.
func TestAlloXFilter(t *testing.T) {
	var jobs []allocate.JobState
	for i := range 10 {
		jobs = append(jobs, gangOf(string(rune('a'+i)), float64(i), 1, float64(100-10*i)))
	}
	a := mustAllocate(t, serving(allox), stateOf(20, 1, 0, jobs...))
	if got := slices.Index(a.Choice, 0); got != 2 {
		t.Errorf("job %d runs, want the shortest of the three oldest", got)
	}
	jobs[0].Current = 0
	a = mustAllocate(t, serving(allox), stateOf(20, 1, 0, jobs...))
	if got := slices.Index(a.Choice, 0); got != 0 {
		t.Errorf("job %d runs, want the one that ran", got)
	}
}

// TestAlloXLeavesTheRestToOthers: of three jobs the two oldest take part, and both are
// matched with the fast GPU, one behind the other (36,000 + 79,200 s). The slow one goes to
// the third, not to the second, which it would serve in 86,400 s.
func TestAlloXLeavesTheRestToOthers(t *testing.T) {
	expect(t, serving(allox), stateOf(0, 1, 1, gangOf("a", 0, 1, 144000, 36000), gangOf("b", 1, 1, 86400, 43200), gangOf("c", 2, 1, 57600, 57600)), 1, -1, 0)
}
