package solve

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// MarginalGain is the policy of this package; see the package comment.
//
// A job that can start at its minimum together with all others is not
// paused in favour of another; only when the minimums do not all fit do jobs
// wait, those with the least value per share first.
type MarginalGain struct {
	// Greedy stops after the marginal-gain steps, as the published algorithm.
	Greedy bool
}

// Allocate implements [Policy].
func (m MarginalGain) Allocate(s allocate.State) (allocate.Assignment, error) {
	if m.Greedy {
		return Greedy(s, nil)
	}
	x, err := Maximise(s)
	return x.Assignment, err
}

// Values say what option n of job i is worth, and that nothing is worth
// nothing; nil stands for what the options and jobs of the state say.
type Values func(i, n int) float64

// Greedy takes marginal-gain steps only, every job that can starting first:
// the published algorithm of Optimus on convex hulls.
func Greedy(s allocate.State, v Values) (allocate.Assignment, error) {
	if err := checkState(s); err != nil {
		return allocate.Assignment{}, err
	}
	k := newKnapsack(s, v)
	sel, _ := k.start()
	sel.grow()
	return k.assignment(sel), nil
}

// Best makes the sum of values large in about a millisecond and may leave any
// job idle: exactly where the cluster is small and GPUs are all that limits,
// else as the jobs choose at the prices of the dual, repaired. Unlike
// [Maximise] it says no bound, and does not keep everyone running.
func Best(s allocate.State, v Values) (allocate.Assignment, error) {
	if err := checkState(s); err != nil {
		return allocate.Assignment{}, err
	}
	k := newKnapsack(s, v)
	sel := k.table(false)
	if sel == nil {
		sel = k.admit(k.dense, false)
		sel.grow()
		if x := k.rounded(k.approach(false), false); x != nil && x.total() > sel.total() {
			sel = x
		}
	}
	return k.assignment(sel), nil
}

// Solution is the best assignment that was found, and what no other exceeds.
type Solution struct {
	allocate.Assignment
	Value        float64            // sum of the values of what was chosen, idle jobs included
	Bound        float64            // no assignment has a larger Value
	RunningBound float64            // none that runs every job has; Bound where not every job fits
	Dual         float64            // value of the Lagrangian dual at the prices: RunningBound before branch and bound
	Prices       map[string]float64 // by GPU type: value of one more GPU, the dual price of the type
	Worth        []Worth            // by job: whether it is worth its place at the prices
	Proven       bool               // Value is the optimum; where every job can run, of the plans that run all
}

// Worth is a job at the prices of the dual.
type Worth struct {
	Value float64 // of the option that is best at the prices, less that of nothing
	Cost  float64 // of what it takes
}

// Maximise solves the option tables of a state as [MarginalGain] does and
// bounds what any assignment of the state is worth by the Lagrangian dual.
func Maximise(s allocate.State) (Solution, error) {
	if err := checkState(s); err != nil {
		return Solution{}, err
	}
	k := newKnapsack(s, nil)
	sel, d, everyone, proven := k.solve()
	x := Solution{Assignment: k.assignment(sel), Value: sel.total(), Proven: proven}
	x.Dual, x.Prices, x.Worth = d.bound, k.prices(s.Cluster, d), k.worths(d)
	x.RunningBound = math.Max(d.bound, x.Value)
	if proven {
		x.RunningBound = x.Value
	}
	x.Bound = x.RunningBound
	if everyone {
		x.Bound = math.Max(k.free(d, sel), x.RunningBound)
	}
	return x, nil
}

// prices returns what one GPU of each type is worth by the dual.
func (k *knapsack) prices(c *data.Cluster, d dual) map[string]float64 {
	capacity := allocate.NewCapacity(c)
	out := map[string]float64{}
	for _, t := range c.GPUTypes() {
		if at := capacity.Dims(t).GPU(); at >= 0 && capacity.Limit[at] > 0 {
			out[t] = d.price[at] / capacity.Limit[at]
		}
	}
	return out
}

// worths returns, for every job, its best item at the prices.
func (k *knapsack) worths(d dual) []Worth {
	out := make([]Worth, len(k.jobs))
	k.view(d.price)
	for i := range k.jobs {
		if _, c := k.chosen(i, true); c != allocate.None {
			it := &k.jobs[i].items[c]
			out[i] = Worth{it.value - k.jobs[i].idle, k.worth(it, d.price)}
		}
	}
	return out
}

func checkState(s allocate.State) error {
	if s.Cluster == nil {
		return errors.New("allocate: the state has no cluster")
	}
	for _, j := range s.Jobs {
		if math.IsNaN(j.Idle) || math.IsInf(j.Idle, 0) {
			return errors.New("allocate: job " + j.Name + ": the value of getting nothing must be finite")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tenants)) {
		owned := allocate.JobState{History: allocate.History{Tenant: name}}
		for gpuType := range s.Tenants[name].Quota {
			if n := len(s.QuotasOf(&owned, gpuType)); n > maxQuotas {
				return fmt.Errorf("allocate: tenant %q and those above it have %d quotas of %s, want at most %d", name, n, gpuType, maxQuotas)
			}
		}
	}
	return nil
}

// free bounds the assignments that may leave jobs idle, given the dual and
// the best of those that run every job.
func (k *knapsack) free(d dual, best *selection) float64 {
	all := dual{price: slices.Clone(d.price), bound: math.Inf(1)}
	k.try(&all, all.price, make([]float64, len(k.limit)), false)
	if all.bound > d.bound+1e-12*math.Abs(d.bound) { // at these prices some would rather wait
		if other := k.approach(false); other.bound < all.bound {
			all = other
		}
	}
	if s := k.table(false); s != nil {
		return s.total()
	}
	if s := best.clone(); s.branch(all, false) {
		return s.total()
	}
	return all.bound
}

// start admits everyone if it can, else those who are worth most. It
// reports which.
func (k *knapsack) start() (sel *selection, everyone bool) {
	all := k.admit(k.cheap, true)
	sel = k.admit(k.dense, false)
	if all.allRun() && !sel.allRun() {
		sel = all
	}
	return sel, all.allRun()
}

// closeEnough is the gap to the bound, relative to it, below which an
// assignment of many jobs is not worth improving: a thousandth of what
// measuring a speed twice differs by.
const closeEnough = 1e-5

// solve returns the best of what runs now, the exact solution where the
// cluster is small, greedy steps by dominant share, and what the jobs choose at
// the prices of the dual, rounded. Branch and bound proves or beats it where
// jobs are few. What runs now is tried first and wins ties, so that a plan is
// not changed for nothing. With everyone the bound of the dual covers
// assignments that run every job.
func (k *knapsack) solve() (best *selection, d dual, everyone, proven bool) {
	first, mustRun := k.start()
	consider := func(s *selection) {
		if s == nil || mustRun && !s.allRun() {
			return
		}
		s.value = s.total()
		if best == nil || s.value > best.value+best.threshold() {
			best = s
		}
	}
	consider(k.now())
	exact := k.table(mustRun)
	consider(exact)
	d = k.approach(mustRun)
	consider(k.rounded(d, mustRun))
	if len(k.jobs) <= branchJobs || best == nil || d.bound-best.value > closeEnough*math.Abs(d.bound) {
		first.grow()
		consider(first)
	}
	proven = exact != nil || best.branch(d, mustRun)
	return best, d, mustRun, proven
}

// now is the assignment that runs, completed by starting what fits; nil if
// nothing runs or it does not fit the cluster any more.
func (k *knapsack) now() *selection {
	s := k.empty()
	some := false
	for i, j := range k.jobs {
		if j.current == allocate.None {
			continue
		}
		if !s.fits(i, j.current) {
			return nil
		}
		s.set(i, j.current)
		some = true
	}
	if !some {
		return nil
	}
	for i, j := range k.jobs {
		if s.choice[i] == allocate.None {
			s.start(i, j.minimums(), k.dense)
		}
	}
	return s
}

// assignment translates a selection back to option indices.
func (k *knapsack) assignment(s *selection) allocate.Assignment {
	a := allocate.Assignment{Choice: make([]int, len(s.choice))}
	for i, c := range s.choice {
		a.Choice[i] = allocate.None
		if c != allocate.None {
			a.Choice[i] = k.jobs[i].items[c].option
		}
	}
	return a
}
