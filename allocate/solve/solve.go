package solve

import (
	"errors"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// MarginalGain is the policy of this package; see the package comment. Jobs wait
// only if their smallest options do not all fit, those with the least value per
// share first.
func MarginalGain(s allocate.State) (allocate.Assignment, error) {
	x, err := Maximise(s)
	return x.Assignment, err
}

// Values gives the value of option n of job i; an idle job has value 0. nil takes
// the values of the state.
type Values func(i, n int) float64

// Greedy starts every job that fits and then takes marginal-gain steps only: the
// published algorithm of Optimus on convex hulls.
func Greedy(s allocate.State, v Values) (allocate.Assignment, error) {
	if err := checkState(s); err != nil {
		return allocate.Assignment{}, err
	}
	k := newKnapsack(s, v)
	sel, _ := k.start()
	sel.grow()
	return k.assignment(sel), nil
}

// Best is [Maximise] without a bound, in about a millisecond, and may leave any job idle.
// It is exact if the cluster is small and GPUs are the only limit; else it rounds the
// choices at the prices of the dual.
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

// Solution is the best assignment found, and its bounds.
type Solution struct {
	allocate.Assignment
	Value        float64            // sum of the values of the choices, idle jobs included
	Bound        float64            // upper bound of the Value of all assignments
	RunningBound float64            // the same for assignments that run every job; Bound if they do not all fit
	Prices       map[string]float64 // by GPU type: value of one more GPU, the dual price of the type
	Limits       *allocate.Capacity // with the branches of all options
	Dual         []float64          // by dimension of Limits: the dual price of all of it
	Worth        []data.Worth       // by job, at the prices of the dual
	Proven       bool               // Value is the optimum; if every job can run, of assignments that run all
}

// Maximise finds the assignment of [MarginalGain], its bounds and prices.
func Maximise(s allocate.State) (Solution, error) {
	if err := checkState(s); err != nil {
		return Solution{}, err
	}
	k := newKnapsack(s, nil)
	sel, d, everyone, proven := k.solve()
	x := Solution{Assignment: k.assignment(sel), Value: sel.total(), Proven: proven, Limits: k.of}
	x.Prices, x.Dual, x.Worth = k.prices(s.Cluster, d), d.price, k.worths(d)
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

// prices are the dual prices of one GPU of each type.
func (k *knapsack) prices(c *data.Cluster, d dual) map[string]float64 {
	out := map[string]float64{}
	for b, t := range c.GPUTypes() {
		if at := k.dims[b][0]; k.limit[at] > 0 {
			if out[t] = d.price[at] / k.limit[at]; d.price[at] < 1e-12*math.Abs(d.bound) { // 0 but for rounding
				out[t] = 0
			}
		}
	}
	return out
}

// worths returns, for every job, its best item at the prices.
func (k *knapsack) worths(d dual) []data.Worth {
	out := make([]data.Worth, len(k.jobs))
	for i := range k.jobs {
		if _, c := k.chosen(i, d.price, true); c != allocate.None {
			it := &k.jobs[i].items[c]
			value, cost := it.value-k.jobs[i].idle, k.worth(it, d.price)
			out[i] = data.Worth{Value: value, Cost: cost, Surplus: value - cost}
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
	return nil
}

// free bounds the assignments in which jobs may be idle. In those of d and best every job
// runs.
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

// start starts all jobs (everyone), or if they do not all fit those of highest value per
// share.
func (k *knapsack) start() (sel *selection, everyone bool) {
	all := k.admit(k.cheap, true)
	sel = k.admit(k.dense, false)
	if all.allRun() && !sel.allRun() {
		sel = all
	}
	return sel, all.allRun()
}

// closeEnough is the gap, relative to the bound, below which an assignment of many jobs
// is not improved: a thousandth of the difference of two measurements of a speed.
const closeEnough = 1e-5

// solve returns the best of the running assignment, the exact solution if the cluster is
// small, the greedy one, and what the jobs choose at the prices of the dual, rounded.
// With few jobs branch and bound proves or improves it. The running assignment wins ties,
// so that no plan changes without a gain. If all jobs can run (everyone), the dual bounds
// what runs all.
func (k *knapsack) solve() (best *selection, d dual, everyone, proven bool) {
	first, mustRun := k.start()
	top := math.Inf(-1)
	consider := func(s *selection) {
		if s == nil || mustRun && !s.allRun() {
			return
		}
		if v := s.total(); best == nil || v > top+rounding(top) {
			best, top = s, v
		}
	}
	consider(k.now())
	exact := k.table(mustRun)
	consider(exact)
	d = k.approach(mustRun)
	consider(k.rounded(d, mustRun))
	if len(k.jobs) <= branchJobs || best == nil || d.bound-top > closeEnough*math.Abs(d.bound) {
		first.grow()
		consider(first)
	}
	proven = exact != nil || best.branch(d, mustRun)
	return best, d, mustRun, proven
}

// now is the running assignment and starts of other jobs that fit beside it; nil if nothing
// runs or it exceeds the cluster.
func (k *knapsack) now() *selection {
	if !slices.ContainsFunc(k.jobs, func(j kjob) bool { return j.current != allocate.None }) {
		return nil
	}
	s := k.empty()
	for i, j := range k.jobs {
		if !s.fits(i, j.current) {
			return nil
		}
		s.set(i, j.current)
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
