package solve

import (
	"fmt"
	"math"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// cluster builds nodes of one size, counts by type: "a" 2×4 and so on.
func testCluster(nodes ...data.Node) *data.Cluster { return &data.Cluster{Nodes: nodes} }

func nodes(gpuType string, count, gpus int) []data.Node {
	var out []data.Node
	for i := range count {
		out = append(out, data.Node{Name: fmt.Sprintf("%s%d", gpuType, i+1), GPUType: gpuType, GPUs: gpus})
	}
	return out
}

// drawState draws a small allocation problem: up to 5 jobs, two GPU types,
// cores as a second resource, option tables of any shape (super-linear,
// falling, with holes), some jobs running.
func drawState(t *rapid.T) allocate.State {
	c := testCluster(append(nodes("a", rapid.IntRange(1, 2).Draw(t, "a nodes"), 4), nodes("b", rapid.IntRange(0, 2).Draw(t, "b nodes"), 2)...)...)
	if rapid.Bool().Draw(t, "cores limit") {
		for i := range c.Nodes {
			c.Nodes[i].CPUs = float64(rapid.IntRange(1, 12).Draw(t, "cores"))
		}
	}
	s := allocate.State{Cluster: c}
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		need := data.Resources{Worker: data.Need{CPUs: float64(rapid.IntRange(0, 2).Draw(t, "need"))}}
		j := allocate.JobState{Name: fmt.Sprint("job", i), Current: allocate.None, Idle: float64(rapid.IntRange(-3, 0).Draw(t, "idle"))}
		low := rapid.IntRange(1, 3).Draw(t, "min")
		for _, typ := range []string{"a", "b"} {
			v := j.Idle
			for w := low; w <= 6; w++ {
				v += float64(rapid.IntRange(-4, 32).Draw(t, "gain")) / 8 // exact sums: ties are ties
				if rapid.IntRange(0, 3).Draw(t, "hole") == 0 {
					continue
				}
				cfg := data.Config{GPUType: typ, Workers: w}
				j.Options = append(j.Options, allocate.Option{Answer: predict.Answer{Config: cfg}, Value: v, Use: allocate.UseOf(cfg, need)})
			}
		}
		if len(j.Options) > 0 && rapid.Bool().Draw(t, "runs") {
			j.Current = rapid.IntRange(0, len(j.Options)-1).Draw(t, "current")
			j.Options[j.Current].Keeps = true
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// bruteForce returns the best value over all assignments, and over those
// that run every job which has an option that fits alone.
func bruteForce(s allocate.State) (free, all float64) {
	c := s.Capacity()
	c.Branch("b", "") // options ask for it, whether there are such nodes or not
	k := newKnapsack(s, nil)
	left := append([]float64(nil), c.Limit...)
	free, all = math.Inf(-1), math.Inf(-1)
	var walk func(i int, v float64, everyone bool)
	walk = func(i int, v float64, everyone bool) {
		if i == len(s.Jobs) {
			free = math.Max(free, v)
			if everyone {
				all = math.Max(all, v)
			}
			return
		}
		walk(i+1, v+s.Jobs[i].Idle, everyone && len(k.jobs[i].items) == 0)
		for _, o := range s.Jobs[i].Options {
			use := make([]float64, len(left))
			c.Add(use, c.Branch(o.Use.GPUType, ""), &o.Use, 1)
			ok := true
			for d := range use {
				ok = ok && use[d] <= left[d]+1e-9
			}
			if !ok {
				continue
			}
			c.Add(left, c.Branch(o.Use.GPUType, ""), &o.Use, -1)
			walk(i+1, v+o.Value, everyone)
			c.Add(left, c.Branch(o.Use.GPUType, ""), &o.Use, 1)
		}
	}
	walk(0, 0, true)
	return free, all
}

// total is the sum of the values of the choices and of idle jobs.
func total(s allocate.State, a allocate.Assignment) float64 {
	var sum float64
	for i, c := range a.Choice {
		if c < 0 {
			sum += s.Jobs[i].Idle
		} else {
			sum += s.Jobs[i].Options[c].Value
		}
	}
	return sum
}

func TestMarginalGainAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		a, err := Maximise(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(s); err != nil {
			t.Fatalf("over capacity: %v", err)
		}
		if d := math.Abs(a.Value - total(s, a.Assignment)); d > 1e-9 {
			t.Fatalf("value %g, choices add up to %g", a.Value, total(s, a.Assignment))
		}
		free, all := bruteForce(s)
		want := free
		if runsAll(s, a.Assignment) {
			want = all
		}
		if a.Value > want+1e-9 {
			t.Fatalf("value %g beats the optimum %g: brute force and solver disagree on the problem", a.Value, want)
		}
		if a.RunningBound < want-1e-7*(1+math.Abs(want)) || a.Bound < free-1e-7*(1+math.Abs(free)) {
			t.Fatalf("bounds %g of all, %g of those that run every job, below the optima %g, %g", a.Bound, a.RunningBound, free, want)
		}
		// These instances are small enough for branch and bound.
		if !a.Proven || a.Value < want-1e-7*(1+math.Abs(want)) {
			t.Fatalf("value %g (proven %v), optimum %g", a.Value, a.Proven, want)
		}
	})
}

// TestBest: free to leave jobs idle, it is feasible, as good as trying all
// where GPUs are all that limits, and never worse than leaving all idle.
func TestBest(t *testing.T) {
	exact := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		a, err := Best(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(s); err != nil {
			t.Fatalf("over capacity: %v", err)
		}
		var idle float64
		for _, j := range s.Jobs {
			idle += j.Idle
		}
		got := total(s, a)
		free, _ := bruteForce(s)
		if got > free+1e-9 || got < idle-1e-9 {
			t.Fatalf("value %g, want %g (all idle) to %g (the best)", got, idle, free)
		}
		if newKnapsack(s, nil).table(false) != nil {
			if exact++; math.Abs(got-free) > 1e-9 {
				t.Fatalf("value %g, the best is %g", got, free)
			}
		}
	})
	if exact == 0 {
		t.Error("no case was small enough for the table")
	}
}

// runsAll reports whether every job that fits the empty cluster runs.
func runsAll(s allocate.State, a allocate.Assignment) bool {
	k := newKnapsack(s, nil)
	for i, c := range a.Choice {
		if c == allocate.None && len(k.jobs[i].items) > 0 {
			return false
		}
	}
	return true
}

// TestGreedyQuality holds the marginal-gain steps alone to what they are
// worth: on tables with holes, jumps and two resources they stay feasible
// and honest, and on smooth concave tables of one resource, where the
// published argument applies, they are optimal.
func TestGreedyQuality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		a, err := Greedy(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(s); err != nil {
			t.Fatal(err)
		}
		if best, err := Maximise(s); err != nil || total(s, a) > best.Bound {
			t.Fatalf("value %g above the bound %g (%v)", total(s, a), best.Bound, err)
		}
	})
}

func TestGreedyIsOptimalOnConcaveTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := allocate.State{Cluster: testCluster(nodes("a", 2, 4)...)}
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			j := allocate.JobState{Name: fmt.Sprint(i), Current: allocate.None}
			v, gain := 0.0, rapid.Float64Range(5, 6).Draw(t, "first")
			for w := 1; w <= 8; w++ {
				v += gain
				gain *= rapid.Float64Range(0.3, 0.99).Draw(t, "decay")
				c := data.Config{GPUType: "a", Workers: w}
				j.Options = append(j.Options, allocate.Option{Answer: predict.Answer{Config: c}, Value: v, Use: allocate.UseOf(c, data.Resources{})})
			}
			s.Jobs = append(s.Jobs, j)
		}
		a, err := Greedy(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, all := bruteForce(s); math.Abs(total(s, a)-all) > 1e-9 {
			t.Fatalf("greedy %g, optimum %g", total(s, a), all)
		}
	})
}

// TestIdempotent: what was chosen, once it runs and everything else pays for
// a restart, is chosen again. For an optimal first choice this follows from
// exchanging the changed jobs back, so it holds whenever both are proven.
func TestIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for i := range s.Jobs { // discounts need a positive value
			for n := range s.Jobs[i].Options {
				s.Jobs[i].Options[n].Value = math.Abs(s.Jobs[i].Options[n].Value) + 0.125
			}
			s.Jobs[i].Idle = 0
		}
		first, err := MarginalGain(s)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range first.Choice {
			s.Jobs[i].Current = c
			for n := range s.Jobs[i].Options {
				s.Jobs[i].Options[n].Keeps = n == c
				if n != c && c != allocate.None {
					s.Jobs[i].Options[n].Value *= 0.95
				}
			}
		}
		again, err := MarginalGain(s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range first.Choice {
			if first.Choice[i] != again.Choice[i] {
				t.Fatalf("job %d: first %v, then %v", i, first.Choice, again.Choice)
			}
		}
	})
}

func TestJumpsAreTakenWhole(t *testing.T) {
	// One worker more brings nothing, four bring a lot: a greedy method that
	// looks one unit ahead would stop at 1.
	o := func(w int, v float64) allocate.Option {
		c := data.Config{GPUType: "a", Workers: w}
		return allocate.Option{Answer: predict.Answer{Config: c}, Value: v, Use: allocate.UseOf(c, data.Resources{})}
	}
	s := allocate.State{Cluster: testCluster(nodes("a", 1, 5)...), Jobs: []allocate.JobState{
		{Name: "jumps", Current: allocate.None, Options: []allocate.Option{o(1, 1), o(2, 0.9), o(3, 1), o(4, 4)}},
		{Name: "smooth", Current: allocate.None, Options: []allocate.Option{o(1, 1), o(2, 1.5), o(3, 1.8), o(4, 2)}},
	}}
	greedy := func(s allocate.State) (allocate.Assignment, error) { return Greedy(s, nil) }
	for name, policy := range map[string]allocate.PolicyFunc{"greedy": greedy, "marginal gain": MarginalGain} {
		a, err := policy(s)
		if err != nil {
			t.Fatal(err)
		}
		if a.Choice[0] != 3 || a.Choice[1] != 0 {
			t.Errorf("%s: choices %v, want the jump to 4 workers and 1 for the other", name, a.Choice)
		}
	}
}

func TestATypeRunningOutEndsThatBranchOnly(t *testing.T) {
	o := func(typ string, w int, v float64) allocate.Option {
		c := data.Config{GPUType: typ, Workers: w}
		return allocate.Option{Answer: predict.Answer{Config: c}, Value: v, Use: allocate.UseOf(c, data.Resources{})}
	}
	s := allocate.State{Cluster: testCluster(append(nodes("a", 1, 2), nodes("b", 2, 4)...)...)}
	for i := range 3 {
		s.Jobs = append(s.Jobs, allocate.JobState{Name: fmt.Sprint(i), Current: allocate.None, Options: []allocate.Option{
			o("a", 1, 3), o("a", 2, 5), o("b", 1, 1), o("b", 2, 1.9), o("b", 3, 2.7), o("b", 4, 3.4)}})
	}
	a, err := Maximise(s)
	if err != nil {
		t.Fatal(err)
	}
	// Two a for two jobs and four b for the third (9.4), or two a for one
	// and four b for each of the others (11.8): the latter uses everything.
	if math.Abs(a.Value-11.8) > 1e-9 || !a.Proven {
		t.Errorf("value %g proven %v, want 11.8 proven", a.Value, a.Proven)
	}
}

func TestLargeInstanceIsNearItsBound(t *testing.T) {
	s := allocate.State{Cluster: testCluster(append(nodes("a", 50, 8), nodes("b", 100, 4)...)...)}
	for i := range 200 {
		j := allocate.JobState{Name: fmt.Sprint(i), Current: allocate.None}
		for _, typ := range []string{"a", "b"} {
			for w := 1; w <= 32; w *= 2 {
				c := data.Config{GPUType: typ, Workers: w}
				p := 0.4 + 0.5*float64(i%7)/7
				speed := math.Pow(float64(w), p) * (1 + float64(i%3))
				if typ == "b" {
					speed *= 0.3 + 0.1*float64(i%5)
				}
				j.Options = append(j.Options, allocate.Option{Answer: predict.Answer{Config: c}, Value: speed, Use: allocate.UseOf(c, data.Resources{})})
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	a, err := Maximise(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(s); err != nil {
		t.Fatal(err)
	}
	if gap := (a.RunningBound - a.Value) / a.RunningBound; gap > 0.002 {
		t.Errorf("gap %.4f of value %g, want at most 0.2 %%", gap, a.Value)
	}
}

// TestPricesBracketOneGPU: by weak duality a GPU more gains no more than its
// price and the gap together, and a GPU less loses no less than its price
// without the gap. Where the solver proves its optimum, so does solving again.
func TestPricesBracketOneGPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for i := range s.Jobs {
			s.Jobs[i].Idle = -1000 // whether all can run does not change what is best
		}
		best, err := Maximise(s)
		if err != nil {
			t.Fatal(err)
		}
		_, dual, _, _ := newKnapsack(s, nil).solve()
		for gpuType, price := range best.Prices {
			for _, by := range []int{1, -1} {
				changed := s
				changed.Cluster = &data.Cluster{Nodes: append([]data.Node(nil), s.Cluster.Nodes...)}
				for i := range changed.Cluster.Nodes {
					if n := &changed.Cluster.Nodes[i]; n.GPUType == gpuType {
						n.GPUs += by
						break
					}
				}
				again, err := Maximise(changed)
				if err != nil {
					t.Fatal(err)
				}
				fitted := true // options that an empty cluster could not hold before were not priced
				for i, c := range again.Choice {
					fitted = fitted && (c < 0 || s.Jobs[i].Options[c].Use.GPUs <= gpus(s.Cluster, s.Jobs[i].Options[c].Use.GPUType))
				}
				// L(λ) of the changed capacity is L(λ) + by·price.
				if most := dual.bound + float64(by)*price; fitted && again.Value > most+1e-7*(1+math.Abs(most)) {
					t.Fatalf("%+d of %s: value %g, above %g at price %g", by, gpuType, again.Value, most, price)
				}
			}
		}
	})
}

func gpus(c *data.Cluster, gpuType string) (n int) {
	for _, x := range c.Nodes {
		if x.GPUType == gpuType {
			n += x.GPUs
		}
	}
	return n
}

// TestPriceOfTheNextGPU: three jobs that each gain 5, 3, 2, 1 from their
// workers on eight GPUs have 5+3+2 of the first two and 5+3 of the third; the
// ninth is worth 2, and a job that gains less than a GPU costs is not worth it.
func TestPriceOfTheNextGPU(t *testing.T) {
	table := func(gains ...float64) []allocate.Option {
		var out []allocate.Option
		v := 0.0
		for w, g := range gains {
			v += g
			c := data.Config{GPUType: "a", Workers: w + 1}
			out = append(out, allocate.Option{Answer: predict.Answer{Config: c}, Value: v, Use: allocate.UseOf(c, data.Resources{})})
		}
		return out
	}
	s := allocate.State{Cluster: testCluster(nodes("a", 2, 4)...)}
	for i := range 3 {
		s.Jobs = append(s.Jobs, allocate.JobState{Name: fmt.Sprint(i), Current: allocate.None, Options: table(5, 3, 2, 1)})
	}
	x, err := Maximise(s)
	if err != nil {
		t.Fatal(err)
	}
	if p := x.Prices["a"]; x.Value != 28 || p < 2-1e-6 || p > 2+1e-3 {
		t.Errorf("value %g, price %g, want 2 for the next GPU", x.Value, p)
	}
	s.Jobs = append(s.Jobs, allocate.JobState{Name: "small", Current: allocate.None, Options: table(1)})
	if x, err = Maximise(s); err != nil {
		t.Fatal(err)
	}
	if w := x.Worth[3]; w.Value != 1 || w.Cost <= 1 {
		t.Errorf("a job that gains 1 where a GPU costs 2: %+v", w)
	}
}

// TestQuotasHold: with quotas of tenants and of those above them, the solver
// finds the best of all assignments that keep to them.
func TestQuotasHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		s.Jobs = s.Jobs[:min(len(s.Jobs), 3)]
		s.Tenants = map[string]data.Tenant{
			"lab": {Quota: map[string]int{data.AllTypes: rapid.IntRange(0, 6).Draw(t, "lab, all types")}},
			"x":   {Parent: "lab", Quota: map[string]int{"a": rapid.IntRange(0, 4).Draw(t, "x a"), "b": rapid.IntRange(0, 3).Draw(t, "x b")}},
			"y":   {Parent: "lab"},
		}
		for i := range s.Jobs {
			s.Jobs[i].Idle = -100
			s.Jobs[i].History.Tenant = rapid.SampledFrom([]string{"x", "y", "lab", ""}).Draw(t, "tenant")
		}
		best, err := Maximise(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := best.Check(s); err != nil {
			t.Fatal(err)
		}
		top := math.Inf(-1)
		a := allocate.Assignment{Choice: make([]int, len(s.Jobs))}
		var walk func(i int)
		walk = func(i int) {
			if i == len(s.Jobs) {
				if a.Check(s) == nil {
					top = math.Max(top, total(s, a))
				}
				return
			}
			for a.Choice[i] = allocate.None; a.Choice[i] < len(s.Jobs[i].Options); a.Choice[i]++ {
				walk(i + 1)
			}
		}
		walk(0)
		if math.Abs(best.Value-top) > 1e-9 || best.Bound < top-1e-9 {
			t.Fatalf("value %g, bound %g, best of all %g", best.Value, best.Bound, top)
		}
	})
}

// TestDeepQuotas: of eight quotas above a job the smallest, of any of the tenants, holds.
func TestDeepQuotas(t *testing.T) {
	parents := map[string]string{"team": "lab", "lab": "school", "school": "org", "org": ""}
	for tight := range parents {
		s := allocate.State{Cluster: testCluster(nodes("a", 1, 4)...), Tenants: map[string]data.Tenant{}}
		for name, parent := range parents {
			s.Tenants[name] = data.Tenant{Quota: map[string]int{"a": 4, data.AllTypes: 3}, Parent: parent}
		}
		s.Tenants[tight].Quota["a"] = 2
		j := allocate.JobState{Current: allocate.None, History: allocate.History{Tenant: "team"}}
		for n := 1; n <= 4; n++ {
			j.Options = append(j.Options, allocate.Option{Value: float64(n), Use: allocate.Use{GPUType: "a", GPUs: n}})
		}
		s.Jobs = []allocate.JobState{j}
		if x, err := Maximise(s); err != nil || x.Value != 2 || x.Bound != 2 {
			t.Errorf("2 GPUs for %s: value %g, bound %g (%v), want 2", tight, x.Value, x.Bound, err)
		}
	}
}
