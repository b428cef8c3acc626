package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/policy/gavel"
)

// Gavel divides time on every GPU type among gangs (Narayanan et al., OSDI
// 2020), by one of three objectives, each an exact linear program of package
// gavel:
//
//   - max-min: maximise the least speed relative to that of an equal share of every
//     type, by weight and per GPU (section 4.1, heterogeneity-aware least attained
//     service), with water filling;
//   - finish-time fairness: minimise the largest Themis ρ (section 4.2);
//   - makespan: minimise the end of the last job (section 4.2).
//
// Fractions become rounds as in section 5 and in the published scheduler: on a
// type, jobs are ordered by their fraction ÷ the share of the type's time that they
// have had since the jobs last changed, then by the time they were short of before,
// then by the fraction. Other jobs run where they fit, so that no GPU idles. Where
// the speed of two jobs on the same GPUs is known, pairs of gangs of one size have
// fractions and rounds too (section 3.1, space sharing).
//
// The programs are solved at every decision; the published scheduler waits until jobs
// change.
type Gavel struct {
	Objective GavelObjective

	since    float64 // when jobs or capacity last changed
	room     []float64
	accounts map[string]*gavelAccount
	packs
	pairs map[[2]string]*gavelAccount // of jobs that shared GPUs
	last  float64                     // when the last answer was given
}

// GavelObjective is the objective of a [Gavel] policy.
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
	byType   map[string]float64 // GPU-seconds at the last decision
	paired   bool               // GPUs were shared since then
	kind     int                // the type, of a pair
	got      []float64          // seconds by type since jobs last changed
	short    []float64          // seconds by type it should have had before and did not
	share    []float64          // fractions decided last
	isolated float64            // seconds its work so far would have taken on an equal share
	left     float64            // work left at the last decision
	equal    float64            // speed of an equal share at the last decision
}

// Allocate implements [allocate.Policy].
func (g *Gavel) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	all := newGangs(s)
	p := all.problem()
	g.pair(all, p)
	accounts := g.book(all)
	a := g.divide(all, p, accounts)
	for i, x := range accounts {
		x.share, x.left, x.equal = a.Share[i], all.left(i), p.Equal(i)
	}
	for x, pair := range p.Pairs {
		g.pairs[names(s, pair)].share = a.Packed[x]
	}
	g.serve(q, all, g.claims(all, p, accounts))
	return q.assignment(), nil
}

func (g *Gavel) divide(all *gangs, p *gavel.Problem, accounts []*gavelAccount) gavel.Allocation {
	n := len(p.Size)
	need, left, age, isolated := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	gpus := sum(all.room)
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

// book adds up what every job has had since the last decision, and starts again
// if jobs or capacity have changed.
func (g *Gavel) book(all *gangs) []*gavelAccount {
	s, old := all.state, g.accounts
	g.accounts = map[string]*gavelAccount{}
	out := make([]*gavelAccount, len(s.Jobs))
	changed := len(old) != len(s.Jobs) || !slices.Equal(g.room, all.room)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		a := old[j.Name]
		if a == nil || len(a.got) != len(all.types) {
			a = &gavelAccount{byType: map[string]float64{}, got: make([]float64, len(all.types)), short: make([]float64, len(all.types)),
				share: make([]float64, len(all.types)), isolated: j.History.Ran, left: all.left(i)}
			changed = true
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
		g.accounts[j.Name], out[i] = a, a
	}
	if changed {
		for _, a := range slices.Concat(out, slices.Collect(maps.Values(g.pairs))) {
			for k := range a.got {
				a.short[k] += a.share[k]*(s.Now-g.since) - math.Max(0, a.got[k]-gavelRound/2)
				a.got[k] = gavelRound / 2 // above 0, as claims divide by it
			}
		}
		g.since, g.room = s.Now, slices.Clone(all.room)
	}
	return out
}

// claim is the claim of a job, or of a pair, on a type.
type claim struct {
	job, other int // other is −1 for none
	kind       int
	order      key
}

// claims are those of all jobs and pairs, in the order of service.
func (g *Gavel) claims(all *gangs, p *gavel.Problem, accounts []*gavelAccount) []claim {
	total := make([]float64, len(all.types))
	together := slices.Clone(accounts)
	for _, pair := range p.Pairs {
		together = append(together, g.pairs[names(all.state, pair)])
	}
	for _, a := range together {
		for k, t := range a.got {
			total[k] += t
		}
	}
	var out []claim
	add := func(a *gavelAccount, job, other int) {
		for k, x := range a.share {
			if all.option[job][k] >= 0 && x > 0 {
				out = append(out, claim{job, other, k, key{-x * total[k] / a.got[k], -a.short[k], -x}})
			}
		}
	}
	for i, a := range accounts {
		add(a, i, -1)
	}
	for x, pair := range p.Pairs {
		add(together[len(accounts)+x], pair.A, pair.B)
	}
	slices.SortStableFunc(out, func(a, b claim) int { return cmp.Or(a.order.compare(b.order), cmp.Compare(a.job, b.job)) })
	return out
}

// serve gives GPUs by claims, then to other jobs that fit.
func (g *Gavel) serve(q *queue, all *gangs, claims []claim) {
	g.guests, g.last = map[int][2]int{}, q.state.Now
	idle := func(i int) bool {
		_, lodges := g.guests[i]
		return q.choice[i] < 0 && !lodges
	}
	for _, c := range claims {
		switch {
		case !idle(c.job) || c.other >= 0 && !idle(c.other):
		case q.try(c.job, all.option[c.job][c.kind]) && c.other >= 0:
			g.guests[c.other] = [2]int{c.job, all.option[c.other][c.kind]}
			both := [2]string{q.state.Jobs[c.job].Name, q.state.Jobs[c.other].Name}
			g.accounts[both[0]].paired, g.accounts[both[1]].paired = true, true
			g.pairs[both].paired, g.pairs[both].kind = true, c.kind
		}
	}
	for _, i := range q.waiting(submitted) {
		if idle(i) {
			q.serve(i)
		}
	}
}

// names are those of a pair.
func names(s allocate.State, p gavel.Pair) [2]string {
	return [2]string{s.Jobs[p.A].Name, s.Jobs[p.B].Name}
}

// pair lists the pairs of gangs of one size that are faster on the same GPUs than
// in turns, and books what pairs have had since the last decision.
func (g *Gavel) pair(all *gangs, p *gavel.Problem) {
	if g.beside == nil {
		return
	}
	s, old := all.state, g.pairs
	g.pairs = map[[2]string]*gavelAccount{}
	for b := range s.Jobs {
		for a := range b {
			pair := gavel.Pair{A: a, B: b, Speed: make([][2]float64, len(all.types))}
			gains := false
			for k, t := range all.types {
				x, y := g.together(&s.Jobs[a], &s.Jobs[b], t)
				if x > 0 {
					pair.Speed[k] = [2]float64{x * p.Speed[a][k], y * p.Speed[b][k]}
					gains = gains || pair.Speed[k][0] > 0 && pair.Speed[k][1] > 0
				}
			}
			if !gains {
				continue
			}
			p.Pairs = append(p.Pairs, pair)
			account := old[names(s, pair)]
			if account == nil {
				account = &gavelAccount{got: slices.Repeat([]float64{gavelRound / 2}, len(all.types)), short: make([]float64, len(all.types)), share: make([]float64, len(all.types))}
			}
			if account.paired {
				account.got[account.kind] += s.Now - g.last
				account.paired = false
			}
			g.pairs[names(s, pair)] = account
		}
	}
}
