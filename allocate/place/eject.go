package place

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// Limits of repair. They are counts, so that the result is the same on every
// machine. With more than repairPairs pairs of a job that fell back and another
// job the gain is a small part of the whole. Of each job's pairs only the cheapest
// are tried.
const (
	repairPairs = 2_500
	repairTries = 400
)

// ejection is another choice for a job, which frees nodes.
type ejection struct {
	job, choice int
	loss        float64
}

// repair gives jobs that fell back their assigned option if another job can free
// the nodes at a smaller loss: the solver ignores node boundaries, and otherwise
// the jobs placed last lose by it.
func (p *placing) repair(a allocate.Assignment, fell []int) {
	if len(fell)*len(p.out) > repairPairs {
		return
	}
	slices.SortStableFunc(fell, func(x, y int) int { return cmp.Compare(p.lost(y, a), p.lost(x, a)) })
	for _, i := range fell {
		for n, w := range p.ejections(i, p.lost(i, a)) {
			if n == repairTries || p.swap(i, a.Choice[i], w) {
				break
			}
		}
	}
}

// valueOf is the value of what job i has now.
func (p *placing) valueOf(i int) float64 {
	if p.out[i].Choice == allocate.None {
		return p.state.Jobs[i].Idle
	}
	return p.out[i].Option.Value
}

// ejections lists other choices of other jobs, none larger on the same GPU type,
// that cost less than a gain, cheapest first. Jobs that stay as they are are left alone.
func (p *placing) ejections(i int, gain float64) []ejection {
	var out []ejection
	least := 1e-9 * (1 + math.Abs(gain))
	for b := range p.out {
		now := &p.out[b]
		if b == i || now.Choice == allocate.None || now.Option.Keeps || p.short[b] {
			continue
		}
		for n := range p.state.Jobs[b].Options {
			o := &p.state.Jobs[b].Options[n]
			room := o.Use.GPUs < now.Option.Use.GPUs || o.Use.GPUType != now.Option.Use.GPUType || o.Use.GPUs == now.Option.Use.GPUs && n != now.Choice
			if loss := now.Option.Value - o.Value; room && loss < gain-least {
				out = append(out, ejection{b, n, loss})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y ejection) int { return cmp.Compare(x.loss, y.loss) })
	return out
}

// swap places job i on its choice after another job has made the ejection w. It
// changes nothing if one of them cannot be placed.
func (p *placing) swap(i, choice int, w ejection) bool {
	mine, other := p.out[i], p.out[w.job]
	want, less := p.state.Jobs[i].Options[choice], p.state.Jobs[w.job].Options[w.choice]
	if !p.permits(i, &want, w.job, &less) {
		return false
	}
	p.placer.Release(mine.Nodes, p.standing[i].Resources)
	p.placer.Release(other.Nodes, p.standing[w.job].Resources)
	if nodes, ok := p.placer.PlaceShape(p.request(i, want.Config)); ok {
		if second, ok := p.placer.PlaceShape(p.request(w.job, less.Config)); ok {
			p.out[i], p.short[i] = Placed{Choice: choice, Option: want, Nodes: nodes}, false
			p.out[w.job] = Placed{Choice: w.choice, Option: less, Nodes: second}
			return true
		}
		p.placer.Release(nodes, p.standing[i].Resources)
	}
	p.placer.Take(mine.Nodes, p.standing[i].Resources)
	p.placer.Take(other.Nodes, p.standing[w.job].Resources)
	return false
}

// lost is the value that job i lost from assignment to placement.
func (p *placing) lost(i int, a allocate.Assignment) float64 {
	return p.state.Jobs[i].Options[a.Choice[i]].Value - p.valueOf(i)
}
