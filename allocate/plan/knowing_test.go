package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
	"knee/fit"
	"knee/predict"
)

// course is the true speed of a made-up job: a worker computes for a time, and the time
// of communication grows with a power of the workers, and between nodes by a factor.
type course struct{ compute, link, between, power, samples float64 }

func newCourse(rng *rand.Rand) course {
	return course{compute: logUniform(rng, .05, .5), link: logUniform(rng, .002, .5), between: logUniform(rng, 1, 8),
		power: .6 * rng.Float64(), samples: logUniform(rng, 1e5, 1e7)}
}

func (o course) At(c data.Config) (predict.Answer, error) {
	c.LocalBatch = 32
	seconds := o.compute
	if c.Workers > 1 {
		link := o.link * math.Pow(float64(c.Workers), o.power)
		if c.NodeCount() > 1 {
			link *= o.between
		}
		seconds += link
	}
	one := func(v float64) data.Estimate { return data.Estimate{Mean: v, Lo: v, Hi: v} }
	goodput := c.GlobalBatch() / seconds
	return predict.Answer{Config: c, StepTime: one(seconds), Throughput: one(goodput), Goodput: one(goodput), TimeToTarget: one(o.samples / goodput)}, nil
}

func (o course) BestBatch(c data.Config) (predict.Answer, error) { return o.At(c) }
func (course) GPUTypes() []string                                { return []string{"t4"} }
func (course) Modes(string) []data.Mode                          { return []data.Mode{data.AllReduce} }

// measured returns the model of a job fitted to measurements of it on some workers.
func (o course) measured(tb testing.TB, name string, workers ...int) *fit.Model {
	tb.Helper()
	var rows []data.Measurement
	for _, k := range workers {
		c := data.Config{Job: name, GPUType: "t4", Workers: k, Placement: data.EvenPlacement(k, (k+3)/4), LocalBatch: 32}
		a, _ := o.At(c)
		rows = append(rows, data.Measurement{Config: c, Status: data.OK, StepTime: a.StepTime.Mean})
	}
	m, err := fit.FitContext(context.Background(), rows, fit.Settings{Seed: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// contest is jobs that compete for 24 GPUs, each measured on one and two of them.
type contest struct {
	Problem
	truth []course
}

func newContest(tb testing.TB, seed uint64, jobs int) *contest {
	rng := rand.New(rand.NewPCG(seed, 0))
	c := &contest{Problem: Problem{Cluster: testCluster(nodes("t4", 6, 4)...), Predictors: map[string]*predict.Predictor{}}}
	for i := range jobs {
		j := named(fmt.Sprintf("job-%d", i), 1, 24)
		j.Batch = data.Batch{}
		c.truth = append(c.truth, newCourse(rng))
		j.Remaining.Epochs, j.Remaining.Dataset = 1, c.truth[i].samples
		c.Jobs = append(c.Jobs, j)
		c.know(tb, i, 1, 2)
	}
	return c
}

// know fits the model of a job to measurements on some workers.
func (c *contest) know(tb testing.TB, i int, workers ...int) {
	name := c.Jobs[i].Name
	c.Predictors[name] = &predict.Predictor{Model: c.truth[i].measured(tb, name, workers...)}
}

// profiled is the contest with some jobs measured on more workers.
func (c *contest) profiled(tb testing.TB, jobs []int) *contest {
	more := *c
	more.Predictors = map[string]*predict.Predictor{}
	for i, j := range c.Jobs {
		if more.Predictors[j.Name] = c.Predictors[j.Name]; slices.Contains(jobs, i) {
			more.know(tb, i, 1, 2, 4, 8, 16)
		}
	}
	return &more
}

// value is what the plan of the problem is truly worth.
func (c *contest) value(tb testing.TB) (sum float64) {
	made, err := Solve(c.Problem, nil)
	if err != nil {
		tb.Fatal(err)
	}
	oracles := make([]oracle, len(c.truth))
	for i, o := range c.truth {
		oracles[i] = o
	}
	p, err := prepare(c.Problem, oracles)
	if err != nil {
		tb.Fatal(err)
	}
	for i, j := range made.Jobs {
		sum += p.state.Jobs[i].Idle
		at := slices.IndexFunc(p.state.Jobs[i].Options, func(o allocate.Option) bool { return place.Same(o.Config, j.Config()) })
		if j.Workers > 0 && at < 0 {
			tb.Fatalf("%s: no such option", j.Config())
		} else if at >= 0 {
			sum += p.state.Jobs[i].Options[at].Value - p.state.Jobs[i].Idle
		}
	}
	return sum
}

// byKnowing returns the jobs in descending order of the worth of knowing them.
func (c *contest) byKnowing(tb testing.TB) (order []int, worth []float64) {
	c.Resolve = true
	made, err := Solve(c.Problem, nil)
	if err != nil {
		tb.Fatal(err)
	}
	c.Resolve = false
	for i, j := range made.Jobs {
		order, worth = append(order, i), append(worth, j.Worth.Knowing)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worth[b], worth[a]) })
	return order, worth
}

// TestSecondsLeftOfALostNode: a job with an hour left has the same samples left after one of
// its nodes was removed.
func TestSecondsLeftOfALostNode(t *testing.T) {
	c := newContest(t, 1, 1)
	c.Jobs[0].Remaining = data.Remaining{Seconds: 3600}
	var left []float64 // samples
	for _, node := range []string{"t42", "gone"} {
		c.Jobs[0].Current = &data.Current{GPUType: "t4", Placement: data.Placement{4, 4}, Nodes: []string{"t41", node}, LocalBatch: 32}
		made, err := Solve(c.Problem, nil)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, made.Jobs[0].Finish.Mean*made.Jobs[0].Goodput.Mean)
	}
	if math.Abs(left[1]/left[0]-1) > 0.01 {
		t.Errorf("%g samples left with both nodes, %g after one was removed", left[0], left[1])
	}
}

// Knowing a job is worth something, less the more of it was measured.
func TestKnowing(t *testing.T) {
	c := newContest(t, 1, 4)
	_, before := c.byKnowing(t)
	_, after := c.profiled(t, []int{0, 1}).byKnowing(t)
	for i := range before {
		if i < 2 && !(after[i] < before[i]/2) || !(before[i] > 0) {
			t.Errorf("job %d: knowing is worth %g, measured more %g; want it to halve for the first two", i, before[i], after[i])
		}
	}
}

// What a quota forbids is not worth knowing.
func TestKnowingWithinQuotas(t *testing.T) {
	quota, bound := newContest(t, 1, 1), newContest(t, 1, 1)
	quota.Tenants, quota.Jobs[0].Tenant = []data.Tenant{{Name: "x", Quota: map[string]int{"t4": 2}}}, "x"
	bound.Jobs[0].Workers.Max = 2
	_, got := quota.byKnowing(t)
	_, want := bound.byKnowing(t)
	if math.Abs(got[0]-want[0]) > 1e-9 {
		t.Errorf("knowing is worth %g under a quota of two GPUs, %g with at most two workers", got[0], want[0])
	}
}

// A quota that jobs share has a price as GPUs have: under one of eight GPUs knowing them is
// worth what it is on a cluster of eight.
func TestKnowingUnderASharedQuota(t *testing.T) {
	quota, small := newContest(t, 2, 6), newContest(t, 2, 6)
	quota.Tenants = []data.Tenant{{Name: "x", Quota: map[string]int{"t4": 8}}}
	for i := range quota.Jobs {
		quota.Jobs[i].Tenant = "x"
	}
	small.Cluster = testCluster(nodes("t4", 2, 4)...)
	_, got := quota.byKnowing(t)
	_, want := small.byKnowing(t)
	for i := range got {
		if math.Abs(got[i]-want[i]) > .1*want[i]+.01 {
			t.Errorf("job %d: knowing is worth %g under the quota, %g on the small cluster", i, got[i], want[i])
		}
	}
}

// BenchmarkKnowing profiles three of twelve jobs, over b.N made-up contests: the share of
// what profiling all would gain, if they are those with the most worth of knowing, of the
// widest intervals on eight workers, or drawn at random:
//
//	go test ./allocate/plan -run '^$' -bench Knowing -benchtime 60x
func BenchmarkKnowing(b *testing.B) {
	const jobs, budget = 12, 3
	gained, possible := map[string]float64{}, 0.
	for seed := range b.N {
		c := newContest(b, uint64(1000+seed), jobs)
		before := c.value(b)
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		known, _ := c.byKnowing(b)
		widest := rng.Perm(jobs)
		width := func(i int) float64 {
			a, err := c.Predictors[c.Jobs[i].Name].At(data.Config{GPUType: "t4", Workers: 8, Nodes: 2})
			if err != nil {
				b.Fatal(err)
			}
			return a.StepTime.Hi / a.StepTime.Lo
		}
		slices.SortFunc(widest, func(x, y int) int { return cmp.Compare(width(y), width(x)) })
		for name, order := range map[string][]int{"knowing": known, "widest": widest, "random": rng.Perm(jobs)} {
			gained[name] += c.profiled(b, order[:budget]).value(b) - before
		}
		possible += c.profiled(b, known).value(b) - before
	}
	for name, v := range gained {
		b.ReportMetric(100*v/possible, "%-of-gain-"+name)
	}
}
