package policy

import (
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/policy/oasis"
	"knee/internal/grouped"
	"knee/internal/list"
)

// OASiS admits jobs online by prices and books GPU time for them (Bao et al., INFOCOM 2018,
// sections 3 and 4): a submitted job takes the schedule of workers in later slots whose
// utility exceeds its price most, if any does. The price of a GPU in a slot rises from L to
// U as the type is booked: U is the largest utility per GPU-slot of a job so far, L the
// smallest ÷ 4η, η = 1. The utility of a job is its weight ÷ its slowdown, the time to its
// end ÷ that on its fastest option.
//
// With Hold it is DPS-style pricing (Zhou et al., IEEE TMC 2023): an admitted job keeps one
// gang without a break. A job that is not done at the end of its schedule books another, a
// rejected one asks again in the next slot. Both are simplified, see docs/policies.md.
type OASiS struct {
	Hold bool

	market *oasis.Market
	booked map[string]*booking
	origin float64 // when slot 0 begins
	now    int     // the present slot
}

// Seconds of a slot, and how many ahead are booked at most (the paper: an hour, 300).
const (
	oasisSlot    = 300
	oasisHorizon = 300
)

// booking is the schedule of an admitted job.
type booking struct {
	job *oasis.Job
	oasis.Schedule
	crowded bool // what it booked for now does not fit
}

// Allocate implements [allocate.Policy].
func (o *OASiS) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	all := newGangs(q)
	o.open(all)
	for _, i := range sorted(s, submitted) {
		b := o.booked[s.Jobs[i].Name]
		if b == nil || o.now >= b.From+len(b.Choice) {
			if b = o.admit(all, i); b == nil {
				continue
			}
		}
		if c := b.Choice[max(0, o.now-b.From)]; c >= 0 {
			b.crowded = !q.tryLike(i, all.types[b.job.Options[c].Kind], int(b.job.Options[c].GPUs))
		}
	}
	if q.idle() {
		q.fill(submitted)
	}
	return q.assignment(), nil
}

// WhyIdle says why a job got nothing, for plans.
func (o *OASiS) WhyIdle(job string) string {
	b := o.booked[job]
	if b == nil {
		return fmt.Sprintf("finds its GPUs dearer than it is worth; it asks again every %d minutes", oasisSlot/60)
	}
	if b.crowded {
		return "has booked GPUs for it now, which do not fit beside the other jobs or in the quota of its tenant"
	}
	for slot := max(o.now, b.From); slot < b.From+len(b.Choice); slot++ {
		if b.Choice[slot-b.From] >= 0 {
			return fmt.Sprintf("has booked GPUs for it in %d minutes", (slot-o.now)*oasisSlot/60)
		}
	}
	return ""
}

// open makes or updates the market, and frees what ended jobs booked.
func (o *OASiS) open(all *gangs) {
	if o.market == nil {
		o.market, o.booked, o.origin = &oasis.Market{}, map[string]*booking{}, all.state.Now
	}
	o.market.GPUs = all.room
	_, here := grouped.By(all.state.Jobs, func(j allocate.JobState) string { return j.Name })
	o.now = int((all.state.Now - o.origin) / oasisSlot)
	for name, b := range o.booked {
		if len(here[name]) == 0 {
			o.market.Book(b.job, b.Schedule, o.now, -1)
			delete(o.booked, name)
		}
	}
}

// admit books later slots for a job, nil if it is rejected.
func (o *OASiS) admit(all *gangs, i int) *booking {
	j := oasisJob(all, i)
	if len(j.Options) == 0 {
		return nil
	}
	o.reprice(j)
	offer := o.market.Offer
	if o.Hold {
		offer = o.market.Hold
	}
	s, ok := offer(j, o.now, oasisHorizon)
	if !ok {
		return nil
	}
	o.market.Book(j, s, o.now, 1)
	b := &booking{job: j, Schedule: s}
	o.booked[all.state.Jobs[i].Name] = b
	return b
}

// reprice widens the range of prices to the utility of a job.
func (o *OASiS) reprice(j *oasis.Job) {
	m := o.market
	slots := list.Map(j.Options, func(x oasis.Option) float64 { return x.GPUs * math.Ceil(j.Work/x.Speed) })
	gpus := slices.Max(slots) // slots of one GPU that the work takes at most
	m.High = math.Max(m.High, j.Utility(1))
	if low := j.Utility(oasisHorizon) / gpus / 4; m.Low == 0 || low < m.Low {
		m.Low = low
	}
}

// oasisJob is job i with its options, the best of each size on a type.
func oasisJob(all *gangs, i int) *oasis.Job {
	s := &all.state.Jobs[i]
	out := &oasis.Job{Work: all.left(i)}
	fastest := 0.0
	for _, o := range s.Options {
		k, v := slices.Index(all.types, o.Use.GPUType), o.Answer.Goodput.Mean*oasisSlot
		if k < 0 || v <= 0 || float64(o.Use.GPUs) > all.room[k] ||
			slices.ContainsFunc(all.state.Quotas(s.History.Tenant, o.Use.GPUType), func(q allocate.Quota) bool { return q.Most < o.Use.GPUs }) {
			continue
		}
		fastest = math.Max(fastest, v)
		gpus := float64(o.Use.GPUs)
		if n := slices.IndexFunc(out.Options, func(x oasis.Option) bool { return x.Kind == k && x.GPUs == gpus }); n >= 0 {
			out.Options[n].Speed = max(out.Options[n].Speed, v)
		} else {
			out.Options = append(out.Options, oasis.Option{Kind: k, GPUs: gpus, Speed: v})
		}
	}
	age := (all.state.Now - s.Submitted) / oasisSlot
	alone := math.Max(out.Work/math.Max(fastest, 1e-12), 1)
	out.Utility = func(slots int) float64 { return weightOf(s) / math.Max(1, (age+float64(slots))/alone) }
	return out
}
