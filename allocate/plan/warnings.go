package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
)

// wide is the width of a 90 % interval relative to its mean above which a speed is worth
// measuring.
const wide = 0.5

type warnings []warning

type warning struct {
	of        string // what is said of many jobs with such a warning
	job, text string
}

func (w *warnings) add(job, of, text string) { *w = append(*w, warning{of, job, text}) }

// grouped is a line for each kind: its only warning, or the number of jobs and the first
// of them.
func (w warnings) grouped() []string {
	out := []string{}
	kinds, all := grouped.By(w, func(x warning) string { return x.of })
	for _, k := range kinds {
		of := all[k]
		if len(of) == 1 {
			out = append(out, fmt.Sprintf("job %q: %s", of[0].job, of[0].text))
			continue
		}
		names := list.Map(of[:min(len(of), 3)], func(x warning) string { return x.job })
		if len(of) > 3 {
			names = append(names, "…")
		}
		out = append(out, fmt.Sprintf("%s jobs %s (%s; of the first: %s; see --explain JOB)", humanize.Comma(int64(len(of))), k, strings.Join(names, ", "), of[0].text))
	}
	return out
}

func (p *prepared) warn(ws *warnings, i int, at place.Placed) {
	job := p.Jobs[i]
	if m, ok := p.infeasible[i]; ok {
		ws.add(job.Name, "cannot be planned", m)
		return
	}
	if n, ok := p.lost[i]; ok {
		ws.add(job.Name, "ran on nodes that the cluster does not have and are placed anew", fmt.Sprintf("ran on node %q, which the cluster does not have, and is placed anew", n))
	}
	if n, ok := p.unknown[i]; ok {
		ws.add(job.Name, "may use nodes that the cluster does not have", fmt.Sprintf("may use node %q, which the cluster does not have: correct its nodes", n))
	}
	if n := p.drained(job); n != "" && p.oracles[i] != nil {
		ws.add(job.Name, "run on drained nodes and have to leave them", fmt.Sprintf("runs on node %q, which is drained, and has to leave it", n))
	}
	if at.Reason != "" {
		ws.add(job.Name, "get less than was chosen for them, as no nodes are free in that shape", at.Reason)
	}
	p.warnOfNow(ws, i, at)
	passed := !job.DeadlineAt.IsZero() && !job.DeadlineAt.After(p.Now)
	if passed {
		ago := seconds(p.Now.Sub(job.DeadlineAt).Seconds())
		ws.add(job.Name, "have deadlines that have passed", fmt.Sprintf("its deadline passed at %s, %s ago", job.DeadlineAt.Format(time.RFC3339), ago))
	}
	asked := func(o allocate.Option) bool { return o.Use.GPUs == job.Requested }
	if slices.Contains(p.Needs, "requested") && job.Requested > 0 && !slices.ContainsFunc(p.state.Jobs[i].Options, asked) {
		ws.add(job.Name, "ask for sizes that they cannot have", fmt.Sprintf("asks for %s, which its workers, its batch or the cluster do not allow: policy %s goes by the next smaller size that is, or else the smallest",
			english.Plural(job.Requested, "worker", ""), p.Policy))
	}
	if at.Choice == allocate.None {
		return
	}
	a, g := at.Option.Answer, at.Option.Answer.Goodput
	switch {
	case a.Extrapolated:
		why := cmp.Or(a.Why, "outside the measured range")
		ws.add(job.Name, "get an allocation whose speed is extrapolated", fmt.Sprintf("the speed of %s is extrapolated (%s); worth profiling", at.Option.Config, why))
	case g.Mean > 0 && (g.Hi-g.Lo)/g.Mean > wide:
		ws.add(job.Name, "get an allocation whose speed is uncertain by more than half", fmt.Sprintf("the goodput of %s is only known to lie between %s and %s samples/s; worth profiling", at.Option.Config, rate(g.Lo), rate(g.Hi)))
	}
	if by, b := p.Predictors[job.Name], job.Batch.Initial; job.Batch.Adapt && b > 0 && a.Config.GlobalBatch() > b && by != nil && by.Model != nil && by.Model.NoiseScale() == nil {
		ws.add(job.Name, "get a larger batch by models without gradient statistics", fmt.Sprintf("%s takes %g samples a step, not %g, and each counts as much, as its model has no gradient statistics: fit it to a training curve with them, or set batch: {adapt: false}", a.Config, a.Config.GlobalBatch(), b))
	}
	if fixed := !job.Batch.Adapt || p.KeepBatch; fixed && job.Batch.Initial > 0 && a.Config.GlobalBatch() > job.Batch.Initial && p.action(i, at) != data.Keep {
		ws.add(job.Name, "get a global batch above theirs, as their workers cannot share that in whole samples", fmt.Sprintf("%s takes %g samples a step, not the %g of its batch: allow workers that divide it", a.Config, a.Config.GlobalBatch(), job.Batch.Initial))
	}
	if p.action(i, at) == data.Keep && !job.Batch.Adapt && job.Current.LocalBatch > 0 {
		now, want := job.Current.Config().GlobalBatch(), a.Config.GlobalBatch()
		if math.Abs(now-want) >= float64(a.Config.Workers) { // less is rounding to whole samples
			ws.add(job.Name, "run at another batch than they are planned with", fmt.Sprintf("runs with %g samples a step and is planned with %g: restart it with that batch, let it adapt its batch, or correct current", now, want))
		}
	}
	if d, t := job.Deadline.Seconds(), a.TimeToTarget.Mean+p.restart(i, at); d > 0 && !passed && a.TimeToTarget.Mean > 0 && t > d {
		ws.add(job.Name, "are expected to miss their deadlines", fmt.Sprintf("is expected to miss its deadline of %s by %s", seconds(d), seconds(t-d)))
	}
}

// warnOfNow warns of a change from an allocation of unknown or extrapolated speed.
func (p *prepared) warnOfNow(ws *warnings, i int, at place.Placed) {
	job := p.Jobs[i]
	if p.oracles[i] == nil || job.Current == nil || len(job.Current.Placement) == 0 || p.action(i, at) == data.Keep {
		return
	}
	now := job.Current.Config()
	a, err := p.oracles[i].At(now)
	if c := p.state.Jobs[i].Current; c != allocate.None {
		a, err = p.state.Jobs[i].Options[c].Answer, nil
		now = a.Config
	}
	switch {
	case err != nil:
		ws.add(job.Name, "change from an allocation of extrapolated or unknown speed, so that the gain is uncertain", fmt.Sprintf("the speed of %s, where it runs now, is unknown (%v), so staying there was not weighed", now, err))
	case a.Extrapolated:
		ws.add(job.Name, "change from an allocation of extrapolated or unknown speed, so that the gain is uncertain", fmt.Sprintf("the speed of %s, where it runs now, is extrapolated (%s), so the gain of the change is uncertain", now, a.Why))
	}
}

// warnOfTenants warns of quotas that limit nothing, and of jobs of tenants that are not
// listed beside those with quotas: a misspelt tenant has none.
func (p *prepared) warnOfTenants() (out []string) {
	types, listed, limited := p.Cluster.GPUTypes(), []string{}, false
	for _, t := range p.Tenants {
		listed, limited = append(listed, t.Name), limited || len(t.Quota) > 0
		for _, gpuType := range slices.Sorted(maps.Keys(t.Quota)) {
			limit := data.Limit{Of: gpuType, Most: t.Quota[gpuType]}
			if !slices.ContainsFunc(types, func(has string) bool { return slices.Contains(t.Limits(has), limit) }) {
				if gpuType == data.AllTypes {
					gpuType = "GPUs"
				}
				src := t.Source
				src.Column += ".quota." + limit.Of
				out = append(out, fmt.Sprintf("%s: the quota of tenant %s limits nothing: the cluster has no %s, only %s",
					src, t.Name, gpuType, strings.Join(types, ", ")))
			}
		}
	}
	var unknown []string
	for _, j := range p.Jobs {
		if limited && j.Tenant != "" && !slices.Contains(listed, j.Tenant) {
			unknown = append(unknown, fmt.Sprintf("%s (tenant %s)", j.Name, j.Tenant))
		}
	}
	if n := len(unknown); n > 0 {
		more := ""
		if n > 3 {
			more = fmt.Sprintf(" and %d more", n-3)
		}
		out = append(out, fmt.Sprintf("no quota holds for %s%s: tenants lists %s", strings.Join(unknown[:min(n, 3)], ", "), more, strings.Join(listed, ", ")))
	}
	return out
}

// warnOfPrices warns of an objective of costs without any price, and of GPU types whose
// nodes differ in price, as costs are of their mean.
func (p *prepared) warnOfPrices() (out []string) {
	if p.leftover {
		return nil
	}
	priced := func(j allocate.JobState) bool {
		return slices.ContainsFunc(j.Options, func(o allocate.Option) bool { return o.Answer.PricePerHour > 0 })
	}
	if p.objective.Unpriced && !slices.ContainsFunc(p.state.Jobs, priced) {
		out = append(out, fmt.Sprintf("objective %s goes by costs, and nothing has a price: give the nodes of the cluster price_per_hour", p.Objective))
	}
	for _, t := range p.Cluster.GPUTypes() {
		if mean, lo, hi := p.Cluster.PricePerGPU(t); hi > 1.01*lo {
			out = append(out, fmt.Sprintf("a GPU of type %s costs $%.4g to $%.4g an hour, by node; whichever a job gets, its cost is counted at their mean, $%.4g", t, lo, hi, mean))
		}
	}
	return out
}
