package policy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/allocate"
	"knee/allocate/policy/dl2"
	"knee/internal/list"
)

// DL2 is a learned policy (Peng et al., IEEE TPDS 2021): a network scores the growth of a
// job to a size. The step of the highest score is taken, until none scores higher than
// stopping, or nothing fits; while no job has GPUs it does not stop. The zero value has the
// weights of package dl2. Simplified, see docs/policies.md.
type DL2 struct {
	Net dl2.Net
	// Pick returns the index of one of the scores at State.Now; the last is that of stopping.
	// nil: the highest. Learning draws at random and records the features.
	Pick func(now float64, features [][]float64, scores []float64) int
}

// Allocate implements [allocate.Policy].
func (p DL2) Allocate(s allocate.State) (allocate.Assignment, error) {
	if p.Net == nil {
		var err error
		if p.Net, err = dl2.Learned(); err != nil {
			return allocate.Assignment{}, err
		}
	}
	if p.Pick == nil {
		p.Pick = func(_ float64, _ [][]float64, scores []float64) int { return floats.MaxIdx(scores) }
	}
	g := newGrowth(s, p.Net)
	for st := g.choose(p.Pick); st != nil; st = g.choose(p.Pick) {
		g.set(st.job, st.to)
		g.next(st.job)
	}
	return g.assignment(), nil
}

// growth is the state of one decision of [DL2].
type growth struct {
	*queue
	net   dl2.Net
	steps [][]*step // of each job, from what it has
	crowd float64   // jobs ÷ (jobs + GPUs)
	rank  []float64 // share of the jobs with less time left
	stop  step
}

// step is a job and the option it would go to.
type step struct {
	job, to  int
	features []float64
	score    float64
}

func newGrowth(s allocate.State, net dl2.Net) *growth {
	g := &growth{queue: newQueue(s), net: net, steps: make([][]*step, len(s.Jobs)), rank: make([]float64, len(s.Jobs))}
	g.crowd = float64(len(s.Jobs)) / float64(len(s.Jobs)+s.Cluster.Slots())
	left := list.Map(s.Jobs, func(j allocate.JobState) float64 { return j.Remaining })
	slices.Sort(left)
	g.stop.features = make([]float64, dl2.Features)
	g.stop.features[0], g.stop.features[1] = 1, g.crowd
	g.stop.score = net.Score(g.stop.features)
	for i := range s.Jobs {
		n, _ := slices.BinarySearch(left, s.Jobs[i].Remaining)
		g.rank[i] = float64(n) / float64(len(left))
		g.next(i)
	}
	return g
}

// choose picks one of the steps that fit, nil to stop.
func (g *growth) choose(pick func(float64, [][]float64, []float64) int) *step {
	open := slices.DeleteFunc(slices.Concat(g.steps...), func(st *step) bool { return !g.fits(st.job, st.to) })
	if len(open) == 0 {
		return nil
	}
	offered := open
	if !g.idle() {
		offered = append(offered, &g.stop)
	}
	features := list.Map(offered, func(st *step) []float64 { return st.features })
	scores := list.Map(offered, func(st *step) float64 { return st.score })
	if n := pick(g.state.Now, features, scores); n < len(open) {
		return open[n]
	}
	return nil
}

// next computes the steps of a job: to the next size of its GPU type, or to the smallest of
// each type if it has nothing; of a size to the running option, else the fastest.
func (g *growth) next(i int) {
	j, has := &g.state.Jobs[i], allocate.Use{}
	if use := g.use(i); use != nil {
		has = *use
	}
	g.steps[i] = nil
	for n := range j.Options {
		o := &j.Options[n]
		if o.Use.GPUs <= has.GPUs || has.GPUs > 0 && o.Use.GPUType != has.GPUType {
			continue
		}
		at := slices.IndexFunc(g.steps[i], func(st *step) bool { return j.Options[st.to].Use.GPUType == o.Use.GPUType })
		if at < 0 {
			g.steps[i] = append(g.steps[i], &step{job: i, to: n})
			continue
		}
		best := g.steps[i][at]
		if b := &j.Options[best.to]; o.Use.GPUs < b.Use.GPUs || o.Use.GPUs == b.Use.GPUs && !keeps(j, best.to) && (keeps(j, n) || o.Answer.Goodput.Mean > b.Answer.Goodput.Mean) {
			best.to = n
		}
	}
	for _, st := range g.steps[i] {
		st.features = g.describe(i, st.to)
		st.score = g.net.Score(st.features)
	}
}

// describe returns the features of a step, each about 0 to 1.
func (g *growth) describe(i, to int) []float64 {
	j := &g.state.Jobs[i]
	o := &j.Options[to]
	least := &j.Options[allocate.Narrowest(j.Options)]
	slow, fast := least.Answer.Goodput.Mean, 0.0 // of the smallest size, and the fastest of this size
	for n := range j.Options {
		if p := &j.Options[n]; p.Use.GPUs == o.Use.GPUs {
			fast = max(fast, p.Answer.Goodput.Mean)
		}
	}
	has, speed, starts := 0, 0.0, 1.0
	if c := g.choice[i]; c >= 0 {
		has, speed, starts = j.Options[c].Use.GPUs, j.Options[c].Answer.Goodput.Mean, 0
	}
	gain, restart, kept := 0.0, 0.0, 0.0
	if slow > 0 && o.Use.GPUs > has {
		gain = (o.Answer.Goodput.Mean - speed) / slow * float64(least.Use.GPUs) / float64(o.Use.GPUs-has)
	}
	if left := j.Remaining * slow / o.Answer.Goodput.Mean; keeps(j, to) {
		kept = 1
	} else if j.Current >= 0 && j.History.Restart > 0 {
		restart = j.History.Restart / (j.History.Restart + left)
	}
	return []float64{0, g.crowd, starts, min(gain, 2), math.Log(float64(o.Use.GPUs)) / math.Log(1+float64(g.state.Cluster.Slots())),
		minutes(j.Remaining), minutes(g.state.Now - j.Submitted), g.rank[i], kept, restart, o.Answer.Goodput.Mean / fast}
}

// minutes is a time from 0, for none, over .5 for an hour, to about 1 for days.
func minutes(seconds float64) float64 { return math.Log1p(max(seconds, 0)/60) / 8 }
