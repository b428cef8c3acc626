package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/allocate"
	"knee/allocate/policy/gavel"
)

// Gavel divides time on every GPU type among gangs (Narayanan et al., OSDI 2020), by one of
// three objectives, each an exact linear program of package gavel:
//
//   - max-min: maximise the least speed relative to that of an equal share of every type, by
//     weight and per GPU (section 4.1, heterogeneity-aware least attained service), with
//     water filling;
//   - finish-time fairness: minimise the largest Themis ρ (section 4.2);
//   - makespan: minimise the end of the last job (section 4.2).
//
// Fractions become rounds as in section 5 and in the published scheduler: on a type, jobs are
// ordered by their fraction ÷ the share of the type's time that they have had since the jobs
// last changed, then by the time they were short of before, then by the fraction. Other jobs
// run where they fit. Where the speed of two jobs on the same GPUs is known, pairs of gangs
// of one size have fractions and rounds too (section 3.1, space sharing). Simplified, see
// docs/policies.md.
type Gavel struct {
	Objective GavelObjective

	since    float64 // when jobs or capacity last changed
	last     float64 // when the last answer was given
	jobs     int     // then
	room     []float64
	accounts map[[2]string]*gavelAccount // of jobs, and of pairs that may share GPUs
}

// GavelObjective is what a [Gavel] policy optimises.
type GavelObjective int

const (
	GavelMaxMin GavelObjective = iota
	GavelFTF
	GavelMakespan
)

// gavelRound is the length of a round in seconds (section 7.1).
const gavelRound = 360

// gavelAccount is the record of a job or a pair.
type gavelAccount struct {
	job, other int                // other is −1 for none
	byType     map[string]float64 // GPU-seconds of the job at the last decision
	paired     bool               // GPUs were shared since then
	kind       int                // the type, of a pair
	got        []float64          // seconds by type since jobs last changed
	short      []float64          // seconds by type it should have had before and did not
	share      []float64          // fractions decided last
	isolated   float64            // seconds the work of the job so far would have taken on an equal share
	left       float64            // work left at the last decision
	equal      float64            // speed of an equal share at the last decision
}

// Allocate implements [allocate.Policy].
func (g *Gavel) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	all := newGangs(q)
	p := all.problem()
	accounts := g.book(all, p)
	a := g.divide(all, p, accounts)
	for n, share := range slices.Concat(a.Share, a.Packed) {
		accounts[n].share = share
	}
	for i := range s.Jobs {
		accounts[i].left, accounts[i].equal = all.left(i), p.Equal(i)
	}
	g.serve(q, all, accounts)
	return q.assignment(), nil
}

func (g *Gavel) divide(all *gangs, p *gavel.Problem, accounts []*gavelAccount) gavel.Allocation {
	n := len(p.Size)
	need, left, age, isolated := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	gpus := floats.Sum(all.room)
	for i := range need {
		j := &all.state.Jobs[i]
		left[i], age[i], isolated[i] = all.left(i), all.state.Now-j.Submitted, accounts[i].isolated
		for k, r := range all.room {
			need[i] += p.Speed[i][k] * r / gpus
		}
		need[i] = math.Max(need[i]*weightOf(j)/p.Size[i], math.SmallestNonzeroFloat32)
	}
	switch g.Objective {
	case GavelFTF:
		return p.FinishTime(age, isolated, left)
	case GavelMakespan:
		return p.MaxMin(left) // 1/Level is the makespan
	}
	return p.MaxMin(need)
}

// book adds up what every job, and every pair found by [Gavel.pair], has had since the last
// decision, and starts again if jobs or capacity have changed. Accounts are in the order of
// jobs, then pairs.
func (g *Gavel) book(all *gangs, p *gavel.Problem) (accounts []*gavelAccount) {
	s, old, kinds := all.state, g.accounts, len(all.types)
	g.accounts = map[[2]string]*gavelAccount{}
	open := func(job, other int, name [2]string, begin float64) (a *gavelAccount, known bool) {
		if a = old[name]; a == nil || len(a.got) != kinds {
			a = &gavelAccount{got: slices.Repeat([]float64{begin}, kinds), short: make([]float64, kinds), share: make([]float64, kinds)}
		}
		a.job, a.other, g.accounts[name], accounts = job, other, a, append(accounts, a)
		return a, a == old[name]
	}
	changed := g.jobs != len(s.Jobs) || !slices.Equal(g.room, all.room)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		a, known := open(i, -1, [2]string{j.Name}, 0)
		if !known {
			a.isolated, a.left, changed = j.History.Ran, all.left(i), true
		}
		for k, t := range all.types {
			if !a.paired {
				a.got[k] += math.Max(0, j.History.ByType[t]-a.byType[t]) / size(j)
			}
		}
		if a.equal > 0 {
			a.isolated += math.Max(0, a.left-all.left(i)) / a.equal
		}
		a.byType, a.paired = maps.Clone(j.History.ByType), false
	}
	for b := 0; b < len(s.Jobs) && s.Beside != nil; b++ {
		for i := range b {
			if !g.pair(all, p, i, b) {
				continue
			}
			a, _ := open(i, b, [2]string{s.Jobs[i].Name, s.Jobs[b].Name}, gavelRound/2)
			if a.paired {
				a.got[a.kind] += s.Now - g.last
				a.paired = false
			}
		}
	}
	if changed {
		for _, a := range accounts {
			for k := range a.got {
				a.short[k] += a.share[k]*(s.Now-g.since) - math.Max(0, a.got[k]-gavelRound/2)
				a.got[k] = gavelRound / 2 // above 0, as claims divide by it
			}
		}
		g.since, g.room = s.Now, slices.Clone(all.room)
	}
	g.last, g.jobs = s.Now, len(s.Jobs)
	return accounts
}

// pair adds two gangs of one size to the problem if they are faster together than in turns.
func (g *Gavel) pair(all *gangs, p *gavel.Problem, a, b int) (gains bool) {
	pair := gavel.Pair{A: a, B: b, Speed: make([][2]float64, len(all.types))}
	for k, t := range all.types {
		if x, y := together(&all.state, a, b, t); x > 0 {
			pair.Speed[k] = [2]float64{x * p.Speed[a][k], y * p.Speed[b][k]}
			gains = gains || pair.Speed[k][0] > 0 && pair.Speed[k][1] > 0
		}
	}
	if gains {
		p.Pairs = append(p.Pairs, pair)
	}
	return gains
}

// claim is the claim of a job, or of a pair, on a type.
type claim struct {
	*gavelAccount
	kind  int
	order key
}

// claims are those of all jobs and pairs, in the order of service.
func claims(all *gangs, accounts []*gavelAccount) []claim {
	total := make([]float64, len(all.types))
	for _, a := range accounts {
		floats.Add(total, a.got)
	}
	var out []claim
	for _, a := range accounts {
		for k, x := range a.share {
			if all.option[a.job][k] >= 0 && x > 0 {
				out = append(out, claim{a, k, key{-x * total[k] / a.got[k], -a.short[k], -x}})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b claim) int { return cmp.Or(a.order.compare(b.order), cmp.Compare(a.job, b.job)) })
	return out
}

// serve gives GPUs by claims, then to other jobs that fit.
func (g *Gavel) serve(q *queue, all *gangs, accounts []*gavelAccount) {
	idle := func(i int) bool {
		_, lodges := q.guests[i]
		return q.choice[i] < 0 && !lodges
	}
	for _, c := range claims(all, accounts) {
		switch {
		case !idle(c.job) || c.other >= 0 && !idle(c.other):
		case q.try(c.job, all.option[c.job][c.kind]) && c.other >= 0:
			q.guests[c.other] = allocate.Guest{Host: c.job, Option: all.option[c.other][c.kind]}
			accounts[c.job].paired, accounts[c.other].paired = true, true
			c.gavelAccount.paired, c.gavelAccount.kind = true, c.kind
		}
	}
	for _, i := range q.waiting(submitted) {
		if idle(i) {
			q.serve(i)
		}
	}
}
