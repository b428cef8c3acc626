// Package dl2 is a scheduling policy learned in the simulator, after DL² (Peng et
// al., "DL2: A deep learning-driven scheduler for deep learning clusters", IEEE
// TPDS 2021): a network scores growing a job to a size; the step of highest score
// is taken, until taking none scores higher or nothing fits. The program in the
// folder learn writes weights.json.
package dl2

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"knee/allocate"
)

// Policy is DL². Unlike the paper's, the network scores each job separately, so any
// number of jobs is possible, and a step is the next size of a job instead of one
// worker or server. The zero value has the weights of weights.json.
type Policy struct {
	Net *Net
	// Pick returns the index of one of the scores; the last is that of no step. nil:
	// the highest. Learning draws at random and records the features.
	Pick func(features [][]float64, scores []float64) int
}

//go:embed weights.json
var weights []byte

// Learned is the network of weights.json.
var Learned = sync.OnceValues(func() (*Net, error) {
	var f File
	if err := json.Unmarshal(weights, &f); err != nil {
		return nil, fmt.Errorf("dl2: weights.json: %w", err)
	}
	return &f.Net, f.Net.check()
})

// File is what weights.json holds.
type File struct {
	Provenance []string `json:"provenance"`
	Net        Net      `json:"net"`
}

// Features is the number of features of a step.
const Features = 11

// Allocate implements [allocate.Policy].
func (p Policy) Allocate(s allocate.State) (allocate.Assignment, error) {
	if p.Net == nil {
		var err error
		if p.Net, err = Learned(); err != nil {
			return allocate.Assignment{}, err
		}
	}
	d := newDealing(s, p.Net)
	next := d.best
	if p.Pick != nil {
		next = func() *step { return d.draw(p.Pick) }
	}
	for {
		st := next()
		if st == nil {
			return allocate.Assignment{Choice: d.choice}, nil
		}
		d.set(st.job, st.to)
		d.next(st.job)
	}
}

// best is the step of highest score that fits, nil if no step scores higher than
// taking none. While no job has GPUs a step is always taken.
func (d *dealing) best() (best *step) {
	top := d.still.score
	if d.idle() {
		top = math.Inf(-1)
	}
	for _, steps := range d.steps {
		for _, st := range steps {
			if st.score > top && d.fits(st) {
				best, top = st, st.score
			}
		}
	}
	return best
}

// draw is the step that is picked among those that fit, nil for none.
func (d *dealing) draw(pick func([][]float64, []float64) int) *step {
	var open []*step
	var features [][]float64
	var scores []float64
	for _, steps := range d.steps {
		for _, st := range steps {
			if d.fits(st) {
				open, features, scores = append(open, st), append(features, st.features), append(scores, st.score)
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	if !d.idle() {
		features, scores = append(features, d.still.features), append(scores, d.still.score)
	}
	if n := pick(features, scores); n < len(open) {
		return open[n]
	}
	return nil
}

func (d *dealing) idle() bool {
	return !slices.ContainsFunc(d.choice, func(c int) bool { return c >= 0 })
}

// dealing is the state of one decision.
type dealing struct {
	s        *allocate.State
	net      *Net
	capacity *allocate.Capacity
	used     []float64
	choice   []int
	steps    [][]*step // of each job, from what it has
	crowd    float64   // jobs of jobs and GPUs
	rank     []float64 // share of the jobs with less time left
	still    step
}

// step is a job and the option it would go to.
type step struct {
	job, to  int
	features []float64
	score    float64
}

func newDealing(s allocate.State, net *Net) *dealing {
	d := &dealing{s: &s, net: net, capacity: s.Capacity(), choice: make([]int, len(s.Jobs)), steps: make([][]*step, len(s.Jobs)), rank: make([]float64, len(s.Jobs))}
	d.used = make([]float64, len(d.capacity.Limit))
	d.crowd = float64(len(s.Jobs)) / float64(len(s.Jobs)+s.Cluster.Slots())
	left := make([]float64, len(s.Jobs))
	for i := range s.Jobs {
		left[i] = s.Jobs[i].Remaining
	}
	slices.Sort(left)
	for i := range s.Jobs {
		n, _ := slices.BinarySearch(left, s.Jobs[i].Remaining)
		d.rank[i], d.choice[i] = float64(n)/float64(len(left)), allocate.None
	}
	d.still.features = make([]float64, Features)
	d.still.features[0], d.still.features[1] = 1, d.crowd
	d.still.score = net.Score(d.still.features)
	for i := range s.Jobs {
		d.next(i)
	}
	return d
}

// fits reports whether there is room for a step.
func (d *dealing) fits(st *step) bool {
	was := d.choice[st.job]
	d.set(st.job, st.to)
	over := d.capacity.Exceeded(d.used) >= 0
	if !over && d.s.HasQuotas() {
		tenant, _ := d.s.Beyond(func(i int) *allocate.Use {
			if d.choice[i] < 0 {
				return nil
			}
			return &d.s.Jobs[i].Options[d.choice[i]].Use
		})
		over = tenant != ""
	}
	d.set(st.job, was)
	return !over
}

func (d *dealing) set(i, to int) {
	options := d.s.Jobs[i].Options
	if was := d.choice[i]; was >= 0 {
		d.capacity.Add(d.used, &options[was].Use, -1)
	}
	if d.choice[i] = to; to >= 0 {
		d.capacity.Add(d.used, &options[to].Use, 1)
	}
}

// next computes the steps of a job: to the next size of its GPU type, or to the
// smallest of each type if it has nothing. Of several options of a size it takes
// the running one, else the fastest.
func (d *dealing) next(i int) {
	j, has := &d.s.Jobs[i], 0
	var own string
	if c := d.choice[i]; c >= 0 {
		has, own = j.Options[c].Use.GPUs, j.Options[c].Use.GPUType
	}
	to := map[string]int{}
	var types []string
	for n := range j.Options {
		o := &j.Options[n]
		if o.Use.GPUs <= has || has > 0 && o.Use.GPUType != own {
			continue
		}
		best, known := to[o.Use.GPUType]
		if !known {
			types = append(types, o.Use.GPUType)
		}
		if b := &j.Options[best]; !known || o.Use.GPUs < b.Use.GPUs || o.Use.GPUs == b.Use.GPUs && (!keeps(j, best) && (keeps(j, n) || o.Answer.Goodput.Mean > b.Answer.Goodput.Mean)) {
			to[o.Use.GPUType] = n
		}
	}
	d.steps[i] = nil
	for _, t := range types {
		st := &step{job: i, to: to[t], features: d.describe(i, to[t])}
		st.score = d.net.Score(st.features)
		d.steps[i] = append(d.steps[i], st)
	}
}

// describe returns the features of a step, each about 0 to 1.
func (d *dealing) describe(i, to int) []float64 {
	j := &d.s.Jobs[i]
	o := &j.Options[to]
	least, slow, fast := math.MaxInt, 0.0, 0.0 // the smallest size, and the fastest of its and of this size
	for n := range j.Options {
		p := &j.Options[n]
		if p.Use.GPUs < least || p.Use.GPUs == least && p.Answer.Goodput.Mean > slow {
			least, slow = p.Use.GPUs, p.Answer.Goodput.Mean
		}
		if p.Use.GPUs == o.Use.GPUs {
			fast = max(fast, p.Answer.Goodput.Mean)
		}
	}
	has, speed, starts := 0, 0.0, 1.0
	if c := d.choice[i]; c >= 0 {
		has, speed, starts = j.Options[c].Use.GPUs, j.Options[c].Answer.Goodput.Mean, 0
	}
	gain, restart, kept := 0.0, 0.0, 0.0
	if slow > 0 && o.Use.GPUs > has {
		gain = (o.Answer.Goodput.Mean - speed) / slow * float64(least) / float64(o.Use.GPUs-has)
	}
	if left := j.Remaining * slow / o.Answer.Goodput.Mean; keeps(j, to) {
		kept = 1
	} else if j.Current >= 0 && j.History.Restart > 0 {
		restart = j.History.Restart / (j.History.Restart + left)
	}
	return []float64{0, d.crowd, starts, min(gain, 2), math.Log(float64(o.Use.GPUs)) / math.Log(1+float64(d.s.Cluster.Slots())),
		minutes(j.Remaining), minutes(d.s.Now - j.Submitted), d.rank[i], kept, restart, o.Answer.Goodput.Mean / fast}
}

// minutes is a time from 0, for none, over .5 for an hour, to about 1 for days.
func minutes(seconds float64) float64 { return math.Log1p(max(seconds, 0)/60) / 8 }

// keeps reports whether an option is what the job runs on now.
func keeps(j *allocate.JobState, n int) bool { return n == j.Current || j.Options[n].Keeps }
