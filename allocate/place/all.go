package place

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
	"knee/internal/list"
)

// Placed is the placement of one job of an assignment.
type Placed struct {
	Choice int             // index in Options, −1 if the job is paused
	Option allocate.Option // the choice, with the shape found
	Nodes  []data.NodeShare
	Reason string // why it did not get its assigned option; empty if it did
}

// Respeed predicts a configuration that is not in the option table, false if it cannot.
type Respeed func(job int, c data.Config) (allocate.Option, bool)

// All places an assignment on the nodes of a cluster; standing has a request for each
// job, without configuration. First come jobs that stay as they are, then jobs that only
// give nodes back, then the others, largest first. A job whose shape is not free falls
// back to the better of an uneven placement and its best other option; Placed.Reason says
// so. If jobs fell back, all are placed once more with those first in their turn, and so
// that parameter servers leave the nodes of workers to workers; the best result is kept.
// With a nil respeed an uneven placement has the speed of the wanted one.
func All(s allocate.State, a allocate.Assignment, standing []Request, respeed Respeed) ([]Placed, *Placer) {
	p, fell := all(s, a, standing, respeed, nil)
	if len(fell) > 0 {
		again := [][]Request{standing}
		if slices.ContainsFunc(p.out, func(at Placed) bool { return at.Option.Config.PS > 0 }) {
			again = append(again, list.Map(standing, func(r Request) Request { r.elsewhere = !r.Apart; return r }))
		}
		for _, standing := range again {
			if q, _ := all(s, a, standing, respeed, fell); Value(s.Jobs, q.out) > Value(s.Jobs, p.out) {
				p = q
			}
		}
	}
	for i, c := range a.Choice {
		if c != allocate.None {
			p.out[i].Reason = reason(&s.Jobs[i].Options[c], &p.out[i])
		}
	}
	return p.out, p.placer
}

// Value is the sum of the values of what the jobs get, idle ones included.
func Value(jobs []allocate.JobState, placed []Placed) (sum float64) {
	for i := range placed {
		sum += placed[i].value(&jobs[i])
	}
	return sum
}

func (p *Placed) value(j *allocate.JobState) float64 {
	if p.Choice == allocate.None {
		return j.Idle
	}
	return p.Option.Value
}

// all places an assignment, the jobs of before first in their turn, and returns who fell
// back.
func all(s allocate.State, a allocate.Assignment, standing []Request, respeed Respeed, before []int) (*placing, []int) {
	p := newPlacing(s, a, standing, respeed)
	early := make([]int, len(s.Jobs))
	for _, i := range before {
		early[i] = 1
	}
	var rest []int
	for i, c := range a.Choice {
		if c != allocate.None && p.out[i].Choice == allocate.None {
			rest = append(rest, i)
		}
	}
	slices.SortStableFunc(rest, func(x, y int) int {
		a, b := &s.Jobs[x].Options[a.Choice[x]], &s.Jobs[y].Options[a.Choice[y]]
		return cmp.Or(p.turn(x, a)-p.turn(y, b), early[y]-early[x], b.Use.GPUs-a.Use.GPUs)
	})
	// A fallback could take the nodes of a choice, so choices come first.
	var fell []int
	for _, i := range rest {
		if at, ok := p.shaped(i, a.Choice[i]); ok {
			p.give(i, at)
		} else {
			fell = append(fell, i)
		}
	}
	for _, i := range fell { // to the choice in an uneven shape
		p.short[i] = true
		if at, ok := p.uneven(i, a.Choice[i]); ok {
			p.give(i, at)
		}
	}
	for _, i := range fell { // or a better option, which could take the quota of a choice
		p.raise(i, p.placer.Free())
	}
	if len(fell) > 0 {
		p.repair(a, fell)
		p.refill()
	}
	return p, fell
}

// Incumbent leaves running jobs on their nodes and offers the free nodes to the others.
func Incumbent(s allocate.State, a allocate.Assignment, standing []Request, respeed Respeed) []Placed {
	p := newPlacing(s, a, standing, respeed)
	p.refill()
	return p.out
}

type placing struct {
	state    allocate.State
	standing []Request
	respeed  Respeed
	placer   *Placer
	out      []Placed
	tally    *allocate.Tally
	short    []bool // jobs that fell back and were not repaired
}

// newPlacing starts with the jobs that keep their option on their nodes.
func newPlacing(s allocate.State, a allocate.Assignment, standing []Request, respeed Respeed) *placing {
	p := &placing{state: s, standing: standing, respeed: respeed, placer: New(s.Cluster), out: make([]Placed, len(s.Jobs)), short: make([]bool, len(s.Jobs)), tally: s.Tally()}
	var who []int
	var rs []Request
	for i, c := range a.Choice {
		p.out[i] = Placed{Choice: allocate.None}
		if c != allocate.None && s.Jobs[i].Options[c].Keeps {
			who, rs = append(who, i), append(rs, p.request(i, s.Jobs[i].Options[c].Config))
		}
	}
	for n, nodes := range p.placer.Keep(rs) {
		if i := who[n]; nodes != nil {
			p.give(i, Placed{Choice: a.Choice[i], Option: s.Jobs[i].Options[a.Choice[i]], Nodes: nodes})
		}
	}
	return p
}

func (p *placing) request(i int, c data.Config) Request {
	r := p.standing[i]
	r.Config = c
	return r
}

// turn is that of job i: jobs that stay on unknown nodes, then jobs that only give nodes
// back, which schedulers can do without a stop, then the others.
func (p *placing) turn(i int, o *allocate.Option) int {
	switch {
	case o.Keeps:
		return 0
	case p.givesBack(i, o):
		return 1
	}
	return 2
}

// givesBack reports whether an option only frees some nodes of job i completely.
func (p *placing) givesBack(i int, o *allocate.Option) bool {
	now := p.standing[i].Current
	if len(o.Config.Placement) == 0 || len(o.Config.Placement) >= len(now) {
		return false
	}
	counts := make(data.Placement, 0, len(now))
	for _, s := range now {
		if at := p.placer.find(s.Node); at < 0 || p.placer.nodes[at].gpuType != o.Use.GPUType {
			return false
		}
		counts = append(counts, s.Workers)
	}
	for _, w := range o.Config.Placement {
		at := slices.Index(counts, w)
		if at < 0 {
			return false
		}
		counts = slices.Delete(counts, at, at+1)
	}
	return true
}

// shaped places option c of job i in its shape, any if it has none, if nodes are free.
func (p *placing) shaped(i, c int) (Placed, bool) {
	o := p.state.Jobs[i].Options[c]
	place := p.placer.placeShape
	if len(o.Config.Placement) == 0 {
		place = p.placer.Place
	}
	nodes, ok := place(p.request(i, o.Config))
	return Placed{Choice: c, Option: o, Nodes: nodes}, ok
}

// reason returns why a job did not get its choice, empty if it did.
func reason(chosen *allocate.Option, got *Placed) string {
	c, g := chosen.Config, got.Option.Config
	switch {
	case got.Choice == allocate.None:
		return fmt.Sprintf("no nodes are free for %d × %s nor for any smaller option; it waits", c.Workers, c.GPUType)
	case got.Option.Value >= chosen.Value:
		return ""
	case c.Workers == g.Workers && c.GPUType == g.GPUType && c.PS == g.PS && c.Placement.String() != g.Placement.String():
		return fmt.Sprintf("no nodes are free for %d workers as %s; they are placed as %s", c.Workers, c.Placement, g.Placement)
	}
	return fmt.Sprintf("no nodes are free for %d × %s; it gets %d × %s instead", c.Workers, c.GPUType, g.Workers, g.GPUType)
}

// uneven places option c of job i in any free shape and predicts its speed.
func (p *placing) uneven(i, c int) (Placed, bool) {
	o := p.state.Jobs[i].Options[c]
	nodes, ok := p.placer.Place(p.request(i, o.Config))
	if !ok {
		return Placed{}, false
	}
	o.Keeps, o.Config.Placement = false, Sorted(data.PlacementOf(nodes))
	o.Config.Nodes = len(o.Config.Placement)
	if p.respeed != nil {
		if o, ok = p.respeed(i, o.Config); !ok {
			p.placer.Release(nodes, p.standing[i].Resources)
		}
	}
	return Placed{Choice: c, Option: o, Nodes: nodes}, ok
}

// refillRounds bounds the passes of refill.
const refillRounds = 4

// refill offers the free slots to all jobs in turn.
func (p *placing) refill() {
	free := p.placer.Free()
	for range refillRounds {
		changed := false
		for i := range p.out {
			if p.raise(i, free) {
				changed, free = true, p.placer.Free()
			}
		}
		if !changed {
			return
		}
	}
}

// raise moves job i to its best option that fits beside all others, if it is better than what
// it has. free is the free worker slots by GPU type.
func (p *placing) raise(i int, free map[string]int) bool {
	j, now := &p.state.Jobs[i], p.out[i]
	if now.Choice != allocate.None && now.Option.Keeps {
		return false // a change would restart it
	}
	better := p.better(i, now, now.value(j), free)
	if len(better) == 0 {
		return false
	}
	p.placer.Release(now.Nodes, p.standing[i].Resources)
	for _, n := range better {
		if at, ok := p.shaped(i, n); ok {
			p.give(i, at)
			return true
		}
	}
	p.placer.Take(now.Nodes, p.standing[i].Resources)
	return false
}

// better lists the options above a value for which enough slots are free, best first.
func (p *placing) better(i int, now Placed, value float64, free map[string]int) []int {
	j := &p.state.Jobs[i]
	var out []int
	for n := range j.Options {
		o := &j.Options[n]
		if o.Value <= value+1e-9*math.Abs(value) {
			continue
		}
		room := free[o.Use.GPUType]
		if now.Choice != allocate.None && now.Option.Use.GPUType == o.Use.GPUType {
			room += now.Option.Use.GPUs
		}
		if o.Use.GPUs <= room && p.permits(i, &o.Use, allocate.None, nil) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(j.Options[b].Value, j.Options[a].Value) })
	return out
}

func (p *placing) give(i int, at Placed) {
	p.tally.Add(i, p.use(i), -1)
	p.out[i] = at
	p.tally.Add(i, p.use(i), 1)
}

func (p *placing) use(i int) *allocate.Use {
	if i == allocate.None || p.out[i].Choice == allocate.None {
		return nil
	}
	return &p.out[i].Option.Use
}

// permits reports whether quotas permit job i the use u and, if b is a job, job b another.
func (p *placing) permits(i int, u *allocate.Use, b int, other *allocate.Use) bool {
	p.tally.Add(i, p.use(i), -1)
	p.tally.Add(b, p.use(b), -1)
	first, second := p.tally.Add(i, u, 1), p.tally.Add(b, other, 1)
	p.tally.Add(b, other, -1)
	p.tally.Add(i, u, -1)
	p.tally.Add(b, p.use(b), 1)
	p.tally.Add(i, p.use(i), 1)
	return first < 0 && second < 0
}
