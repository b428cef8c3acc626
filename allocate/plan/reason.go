package plan

import (
	"fmt"
	"math"
	"time"

	"knee/allocate"
	"knee/allocate/place"
)

// marginalSlopes are the edges of a job's option table on both sides of what it
// got: what its last unit gained and what the next would gain, per dominant
// share, and from and to where. An index is −1 where there is no such edge.
type marginalSlopes struct {
	last, next float64
	from, to   int
}

// marginalSlopes looks among the options of the GPU type the job got, which is
// where "one more" lies.
func (p *prepared) marginalSlopes(i int, at place.Placed) marginalSlopes {
	j := p.state.Jobs[i]
	shareOf := func(u allocate.Use) float64 {
		var v [allocate.MaxDims]float64
		return p.capacity.Shares(&v, p.capacity.Dims(u.GPUType), &u)
	}
	o := at.Option
	share := shareOf(o.Use)
	t := marginalSlopes{last: marginal(o.Value-j.Idle, share), next: math.Inf(-1), from: allocate.None, to: allocate.None}
	for n, x := range j.Options {
		if x.Use.GPUType != o.Use.GPUType || x.Use.GPUs == o.Use.GPUs {
			continue
		}
		d := shareOf(x.Use) - share
		if d < 0 {
			if m := marginal(o.Value-x.Value, -d); m < t.last {
				t.last, t.from = m, n
			}
		} else if m := marginal(x.Value-o.Value, d); d > 0 && m > t.next {
			t.next, t.to = m, n
		}
	}
	if t.to == allocate.None {
		t.next = 0
	}
	return t
}

// marginal is gain per share; a gain that costs nothing beats all others.
func marginal(gain, share float64) float64 {
	switch {
	case share > 0:
		return gain / share
	case gain > 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// why explains an allocation: what the last workers brought, and why there
// are no more.
func (p *prepared) why(i int, at place.Placed, t marginalSlopes, free map[string]int) string {
	o, j := at.Option, p.state.Jobs[i]
	text := fmt.Sprintf("%d × %s is its smallest allocation", o.Use.GPUs, o.Use.GPUType)
	if t.from != allocate.None {
		from := j.Options[t.from]
		text = fmt.Sprintf("going from %d to %d × %s %s", from.Use.GPUs, o.Use.GPUs, o.Use.GPUType,
			change("raised", "lowered", "its goodput", from.Answer.Goodput.Mean, o.Answer.Goodput.Mean))
	} else if p.hasSmaller(i, o) {
		text = fmt.Sprintf("%d × %s is worth most per GPU as a whole", o.Use.GPUs, o.Use.GPUType)
	}
	if t.to == allocate.None {
		return text + "; it has no larger option"
	}
	to := j.Options[t.to]
	text += fmt.Sprintf("; %d %s", to.Use.GPUs, change("would raise", "would lower", "it", o.Answer.Goodput.Mean, to.Answer.Goodput.Mean))
	switch {
	case t.next <= 0 && to.Answer.Goodput.Mean > o.Answer.Goodput.Mean && o.Keeps:
		text += ", which is not worth the restart"
	case t.next <= 0:
		text += ", which the objective does not reward"
	case free[o.Use.GPUType] < to.Use.GPUs-o.Use.GPUs:
		text += fmt.Sprintf(", but the other jobs make more of the %s", o.Use.GPUType)
		if n := free[o.Use.GPUType]; n > 0 {
			text += fmt.Sprintf(", and %d free are too few", n)
		}
	default:
		text += ", but its cores, memory or nodes are taken"
	}
	return text
}

func (p *prepared) hasSmaller(i int, o allocate.Option) bool {
	for _, x := range p.state.Jobs[i].Options {
		if x.Use.GPUType == o.Use.GPUType && x.Use.GPUs < o.Use.GPUs {
			return true
		}
	}
	return false
}

// whyPaused explains why a job gets nothing.
func (p *prepared) whyPaused(i int, at place.Placed) string {
	if m, ok := p.infeasible[i]; ok {
		return m
	}
	if at.Reason != "" {
		return at.Reason
	}
	least := math.MaxInt
	gpuType := ""
	for _, o := range p.state.Jobs[i].Options {
		if o.Use.GPUs < least {
			least, gpuType = o.Use.GPUs, o.Use.GPUType
		}
	}
	return fmt.Sprintf("not every job fits: the %d × %s it needs at least are worth more to the others", least, gpuType)
}

// change says by how much a speed changes, in samples/s and per cent.
func change(up, down, what string, from, to float64) string {
	verb := up
	if to < from {
		verb = down
	}
	if from <= 0 {
		return fmt.Sprintf("%s %s to %s samples/s", verb, what, rate(to))
	}
	return fmt.Sprintf("%s %s from %s to %s samples/s (%+.0f %%)", verb, what, rate(from), rate(to), 100*(to/from-1))
}

// seconds prints a duration for people.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
