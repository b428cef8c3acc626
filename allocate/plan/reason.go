package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// why explains an allocation: the gain of its last workers, and why it has no more.
// gain is per worker.
func (p *prepared) why(i int, at place.Placed, left left) (text string, gain data.MarginalGain) {
	o, j := at.Option, p.state.Jobs[i]
	_, down, up := edges(j.Options, o.Use.GPUType, o.Use.GPUs)
	if last := len(down) - 1; last >= 0 {
		s := down[last]
		gain.Last = finite(s.Gain)
		text = fmt.Sprintf("going from %d to %d × %s %s", s.From, s.To, o.Use.GPUType, change("raised", "lowered", "its goodput", s.Before, s.Goodput))
	} else {
		gain.Last = finite((o.Value - j.Idle) / float64(max(1, o.Use.GPUs)))
		text = fmt.Sprintf("%d × %s is its smallest allocation", o.Use.GPUs, o.Use.GPUType)
	}
	if len(up) == 0 {
		return text + "; it has no larger option: " + p.noLarger(i, o.Use), gain
	}
	next := up[0]
	gain.Next = finite(next.Gain)
	text += fmt.Sprintf("; %d %s", next.To, change("would raise", "would lower", "it", o.Answer.Goodput.Mean, next.Goodput))
	more := allocate.Use{GPUType: o.Use.GPUType, GPUs: next.To - o.Use.GPUs}
	tenant := left.tally.Tenant(left.tally.Add(i, &more, 1))
	left.tally.Add(i, &more, -1)
	switch n := left.free[o.Use.GPUType]; {
	case next.Gain <= 0 && next.Goodput > o.Answer.Goodput.Mean && o.Keeps:
		text += ", which is not worth the restart"
	case next.Gain <= 0:
		text += ", which the objective does not reward"
	case tenant != "":
		text += fmt.Sprintf(", but the quota of tenant %s is used up", tenant)
	case n >= more.GPUs:
		text += ", but its cores, memory or nodes are taken"
	case n > 0:
		text += fmt.Sprintf(", but the other jobs gain more from the %s, and no more than %d free", o.Use.GPUType, n)
	default:
		text += fmt.Sprintf(", but the other jobs gain more from the %s", o.Use.GPUType)
	}
	return text, gain
}

// noLarger returns why a job has no more workers of its GPU type.
func (p *prepared) noLarger(i int, got allocate.Use) string {
	job := p.Jobs[i]
	most := p.fit.of(got.GPUType, job.Resources.Worker).Total()
	switch max := job.Workers.Max; {
	case max > 0 && got.GPUs >= max && job.ID != "" && max == job.Workers.Min:
		return fmt.Sprintf("its owner asked its scheduler for %d, and said neither knee:elastic nor a range of workers", max)
	case max > 0 && got.GPUs >= max:
		return fmt.Sprintf("workers.max is %d", max)
	case got.GPUs == job.LogicalWorkers:
		return fmt.Sprintf("logical_workers is %d", job.LogicalWorkers)
	case got.GPUs >= most:
		return fmt.Sprintf("the nodes hold %s of it", english.Plural(most, "worker", ""))
	case slices.ContainsFunc(p.offered[i].unfit, func(c data.Config) bool { return c.GPUType == got.GPUType && c.Workers > got.GPUs }):
		return "with more workers it does not fit in the memory of a " + got.GPUType
	}
	return "its batch, modes and sizes allow none"
}

// whyIdle explains why a job gets nothing.
func (p *prepared) whyIdle(i int, at place.Placed) string {
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

// change formats a change of speed, in samples/s and per cent.
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

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// rate formats a speed with three digits, thousands separators and no exponent,
// such as 10,800 or 0.0123.
func rate(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return humanize.Commaf(rounded)
}
