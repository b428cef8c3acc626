package place

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// Limits of repair, as counts, so that the result is the same on every machine. With more
// than repairPairs pairs of a job that fell back and another, repair gains little and is
// left out.
const (
	repairPairs = 2_500
	repairTries = 400
)

// ejection is a choice for another job that may free nodes; its present one in another shape.
type ejection struct {
	job, choice int
	loss        float64
}

// repair gives jobs that fell back their choice if another job can free the nodes at a
// smaller loss: the solver ignores node boundaries, at the cost of the jobs placed last.
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

// ejections lists choices of other jobs, not larger on the same GPU type, that lose less
// than a gain, cheapest first; the loss in another shape is not known yet. Jobs that stay
// are left out.
func (p *placing) ejections(i int, gain float64) (out []ejection) {
	least := 1e-9 * (1 + math.Abs(gain))
	for b := range p.out {
		now := &p.out[b]
		if b == i || now.Choice == allocate.None || now.Option.Keeps || p.short[b] {
			continue
		}
		for n := range p.state.Jobs[b].Options {
			o := &p.state.Jobs[b].Options[n]
			room := o.Use.GPUs < now.Option.Use.GPUs || o.Use.GPUType != now.Option.Use.GPUType || o.Use.GPUs == now.Option.Use.GPUs && (n != now.Choice || len(now.Nodes) > 1)
			if loss := now.Option.Value - o.Value; room && loss < gain-least {
				out = append(out, ejection{b, n, loss})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y ejection) int { return cmp.Compare(x.loss, y.loss) })
	return out
}

// swap places job i on its choice and another job on that of an ejection, or changes
// nothing if they do not fit or lose value.
func (p *placing) swap(i, choice int, w ejection) bool {
	mine, other := p.out[i], p.out[w.job]
	want, less := &p.state.Jobs[i].Options[choice], &p.state.Jobs[w.job].Options[w.choice]
	if !p.permits(i, &want.Use, w.job, &less.Use) {
		return false
	}
	gain := want.Value - mine.value(&p.state.Jobs[i])
	p.placer.Release(mine.Nodes, p.standing[i].Resources)
	p.placer.Release(other.Nodes, p.standing[w.job].Resources)
	if first, ok := p.shaped(i, choice); ok {
		if second, ok := p.yield(w); ok {
			if other.Option.Value-second.Option.Value < gain {
				p.give(i, first)
				p.give(w.job, second)
				p.short[i] = false
				return true
			}
			p.placer.Release(second.Nodes, p.standing[w.job].Resources)
		}
		p.placer.Release(first.Nodes, p.standing[i].Resources)
	}
	p.placer.Take(mine.Nodes, p.standing[i].Resources)
	p.placer.Take(other.Nodes, p.standing[w.job].Resources)
	return false
}

// yield places the job of an ejection on its choice, its present one in any shape.
func (p *placing) yield(w ejection) (Placed, bool) {
	if w.choice == p.out[w.job].Choice {
		return p.uneven(w.job, w.choice)
	}
	return p.shaped(w.job, w.choice)
}

// lost is the value that job i lost by placement.
func (p *placing) lost(i int, a allocate.Assignment) float64 {
	return p.state.Jobs[i].Options[a.Choice[i]].Value - p.out[i].value(&p.state.Jobs[i])
}
