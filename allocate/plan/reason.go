package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// why explains an allocation: the gain of its last workers, per worker, and why it has no
// more.
func (p *prepared) why(i int, at place.Placed, left left) (text string, gain data.MarginalGain) {
	o, j := at.Option, p.state.Jobs[i]
	_, down, up := edges(j.Options, o.Use.GPUType, o.Use.GPUs, &o)
	if last := len(down) - 1; last >= 0 {
		s := down[last]
		gain.Last = finite(s.Gain)
		text = fmt.Sprintf("going from %d to %d × %s %s", s.From, s.To, o.Use.GPUType, change("raised", "lowered", "its goodput", s.Before, s.Goodput))
	} else {
		gain.Last = finite((o.Value - j.Idle) / float64(max(1, o.Use.GPUs)))
		text = fmt.Sprintf("%d × %s is its smallest allocation", o.Use.GPUs, o.Use.GPUType)
	}
	if unlinked := p.unlinked(i, &o); unlinked != "" {
		text += "; " + unlinked
	}
	if len(up) == 0 {
		return text + "; it has no larger option: " + p.noLarger(i, o.Use), gain
	}
	next := up[0]
	gain.Next = finite(next.Gain)
	text += fmt.Sprintf("; %d %s", next.To, change("would raise", "would lower", "it", o.Answer.Goodput.Mean, next.Goodput))
	more := allocate.Use{GPUType: o.Use.GPUType, GPUs: next.To - o.Use.GPUs}
	tenant := left.quota(i, &more)
	switch n := left.free[o.Use.GPUType]; {
	case next.Gain <= 0 && next.Goodput > o.Answer.Goodput.Mean && o.Keeps:
		text += ", which is not worth the restart"
	case next.Gain <= 0 && next.Goodput > o.Answer.Goodput.Mean && next.to.Answer.Goodput.Lo < o.Answer.Goodput.Mean:
		why := cmp.Or(p.unlinked(i, next.to), "its speed is uncertain")
		text += fmt.Sprintf(" or lower it to %s, as %s", rate(next.to.Answer.Goodput.Lo), why)
	case next.Gain <= 0:
		text += ", which the objective does not reward"
	case tenant != "":
		text += fmt.Sprintf(", but the quota of tenant %s is used up", tenant)
	case p.policy != "":
		text += fmt.Sprintf(", which policy %s does not give it", p.policy)
	case n >= more.GPUs:
		text += ", but its cores, memory or nodes are taken"
	case n > 0:
		text += fmt.Sprintf(", but the other jobs gain more from the %s, and no more than %d free", o.Use.GPUType, n)
	default:
		text += fmt.Sprintf(", but the other jobs gain more from the %s", o.Use.GPUType)
	}
	return text, gain
}

// unlinked says that an option spans nodes and every measurement of the job is of one
// node, which tells nothing of the network between nodes; empty for others.
func (p *prepared) unlinked(i int, o *allocate.Option) string {
	m, ok := p.oracles[i].(modelled)
	if !ok || o.Config.NodeCount() == 1 {
		return ""
	}
	most := 0
	for _, gpuType := range m.GPUTypes() {
		for _, mode := range m.Modes(gpuType) {
			for _, r := range m.Model.Measurements(gpuType, mode) {
				if r.NodeCount() > 1 || r.Nodes == 0 && len(r.Placement) == 0 {
					return ""
				}
				most = max(most, r.Workers)
			}
		}
	}
	most = min(most, p.fit.of(o.Config.GPUType, p.Jobs[i]).Widest())
	return fmt.Sprintf("the network between nodes is unmeasured: %s certain", english.Plural(most, "worker is", "workers are"))
}

// noLarger returns why a job has no more workers of its GPU type.
func (p *prepared) noLarger(i int, got allocate.Use) string {
	job := p.Jobs[i]
	most := p.fit.of(got.GPUType, job).Total()
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

// quota is the tenant whose quota does not allow job i to use more, empty if it does.
func (l left) quota(i int, more *allocate.Use) string {
	exceeded := l.tally.Add(i, more, 1)
	l.tally.Add(i, more, -1)
	return l.tally.Tenant(exceeded)
}

func (p *prepared) whyIdle(i int, at place.Placed, left left) string {
	if m, ok := p.infeasible[i]; ok {
		return m
	}
	if at.Reason != "" {
		return at.Reason
	}
	options, words := p.state.Jobs[i].Options, "needs at least"
	asked := slices.IndexFunc(options, func(o allocate.Option) bool { return p.Gang && o.Use.GPUs == p.state.Jobs[i].Requested })
	if asked >= 0 {
		words = "asks for"
	} else {
		asked = allocate.Narrowest(options)
	}
	least := &options[asked].Use
	needs := fmt.Sprintf("%d × %s it %s", least.GPUs, least.GPUType, words)
	if tenant := left.quota(i, least); tenant != "" {
		return fmt.Sprintf("the quota of tenant %s has no room for the %s", tenant, needs)
	}
	if p.explain != nil {
		if why := p.explain(p.Jobs[i].Name); why != "" {
			return fmt.Sprintf("policy %s %s", p.policy, why)
		}
	}
	if p.policy != "" {
		return fmt.Sprintf("policy %s does not give it the %s", p.policy, needs)
	}
	return fmt.Sprintf("not every job fits: the %s are worth more to the others", needs)
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

// rate formats a speed with three digits and no exponent, such as 10,800 or 0.0123.
func rate(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return humanize.Commaf(rounded)
}

// whyInfeasible returns why a job does not fit an empty cluster and what to change.
func whyInfeasible(job data.Job, o oracle, in *clusterFit) string {
	room, slots, types := 0, 0, []string{}
	for _, t := range in.types {
		if allowed(job.GPUTypes, t) && allowed(o.GPUTypes(), t) {
			types = append(types, t)
			room = max(room, in.of(t, job).Total())
			slots = max(slots, in.of(t, data.Job{Nodes: job.Nodes}).Total())
		}
	}
	least := max(1, job.Workers.Min)
	if len(types) == 0 {
		return fmt.Sprintf("may run on %s and its model knows %s, and the cluster has %s; profile it on one of these, or allow another",
			anyOf(job.GPUTypes), anyOf(o.GPUTypes()), strings.Join(in.types, ", "))
	}
	on, workers := strings.Join(types, " or "), english.Plural(least, "worker", "")
	if n := len(job.Nodes); n > 0 {
		on += " of the " + english.Plural(n, "node", "") + " that it may use"
	}
	switch {
	case slots == 0 && job.Opportunistic:
		return "opportunistic, and the other jobs leave nothing of " + on
	case room == 0 && slots > 0:
		return fmt.Sprintf("needs %s for each worker, which no node with %s has; lower resources.worker or add larger nodes",
			needText(job.Resources.Worker), on)
	case room == 0:
		return fmt.Sprintf("wants at least %s on %s, and no node of that type is in use; add nodes or take them out of drain", workers, on)
	case room < least && slots >= least:
		return fmt.Sprintf("wants at least %s on %s with %s each, for which no more than %d of %d slots have room; lower workers.min to %d, lower resources.worker or add nodes",
			workers, on, needText(job.Resources.Worker), room, slots, room)
	case room < least:
		return fmt.Sprintf("wants at least %s on %s, where no more than %d fit; lower workers.min to %d or add nodes",
			workers, on, room, room)
	}
	if m, ok := o.(modelled); ok && len(types) > 0 {
		if lo, _ := m.Model.BatchRange(types[0], m.Modes(types[0])[0]); lo == 0 {
			return "has a model without a batch: a step of more workers may do more work, so that speeds cannot be compared; add a column local_batch or global_batch to its measurements"
		}
	}
	return fmt.Sprintf("has room for %s on %s, but none of its sizes or modes is left to choose from; check workers, modes, ps and the sizes allowed",
		english.Plural(room, "worker", ""), on)
}

func anyOf(list []string) string {
	if len(list) == 0 {
		return "any GPU type"
	}
	return strings.Join(slices.Sorted(slices.Values(list)), ", ")
}

func needText(n data.Need) string {
	var parts []string
	if n.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%g %s", n.CPUs, english.PluralWord(int(math.Ceil(n.CPUs)), "core", "")))
	}
	if n.Memory > 0 {
		parts = append(parts, data.FormatQuantity(n.Memory)+" of memory")
	}
	return strings.Join(parts, " and ")
}
