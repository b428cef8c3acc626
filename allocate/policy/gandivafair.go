package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/allocate"
	"knee/internal/list"
)

// GandivaFair shares GPU time by tickets and lets users trade it (Chaudhary et al., EuroSys
// 2020, sections 3.2 to 3.4). A user is entitled to GPUs of every type in proportion to its
// tickets, one per unit of weight, up to the demand of its jobs. Then users trade: of two
// types, the user that gains least from the fast one gives it to the user that gains most,
// for as many slow GPUs as the second-highest gain, between the gains of the two, so that
// neither ends below the value of its tickets. On every type jobs run by stride scheduling:
// next is the user that has had least GPU time for its entitlement, gang by gang (split
// stride), and of its jobs the one that has run least. Simplified, see docs/policies.md.
type GandivaFair struct {
	users map[string]*user
	last  float64 // when it decided last
	leases
}

// user is the record of a tenant.
type user struct {
	jobs    []int
	tickets float64
	gain    []float64 // speed of its jobs on a type over that on the slowest
	demand  float64   // GPUs its jobs ask for
	due     []float64 // GPUs of a type it is entitled to
	pass    []float64 // GPU-seconds per GPU it was entitled to, by type
	holds   []float64 // GPUs of a type it was served at the last decision
}

// Allocate implements [allocate.Policy].
func (g *GandivaFair) Allocate(s allocate.State) (allocate.Assignment, error) {
	q := newQueue(s)
	all := newGangs(q)
	users := g.book(all)
	entitle(users, all.room)
	for fast := range all.types {
		for slow := range all.types {
			trade(users, fast, slow)
		}
	}
	g.during(q, turnOf(s.Now, slice(s)), func() {
		for k := range all.types {
			serveStride(q, all, users, k, slice(s))
		}
		q.fill(leastRun)
	})
	return q.assignment(), nil
}

// book updates the records. A user that is new, or has returned, begins with the least pass
// of the others, as in stride scheduling.
func (g *GandivaFair) book(all *gangs) (out []*user) {
	s, old, kinds := all.state, g.users, len(all.types)
	weights := tickets(s)
	g.users = map[string]*user{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		u := g.users[tenant(j)]
		if u == nil {
			u = &user{tickets: weights[tenant(j)], gain: make([]float64, kinds), due: make([]float64, kinds), holds: make([]float64, kinds)}
			g.users[tenant(j)] = u
		}
		u.jobs = append(u.jobs, i)
		u.demand += size(j)
		var slowest float64
		for k := range all.types {
			if v := all.speed(i, k); v > 0 && (slowest == 0 || v < slowest) {
				slowest = v
			}
		}
		for k := range all.types {
			if slowest > 0 {
				u.gain[k] += size(j) * all.speed(i, k) / slowest
			}
		}
	}
	var least []float64 // pass of those who were here before
	for _, name := range slices.Sorted(maps.Keys(g.users)) {
		u := g.users[name]
		out = append(out, u)
		for k := range u.gain {
			u.gain[k] /= u.demand
		}
		if was := old[name]; was != nil && len(was.pass) == kinds {
			u.pass = make([]float64, kinds)
			for k := range u.pass {
				u.pass[k] = was.pass[k] + was.holds[k]*(s.Now-g.last)/math.Max(was.due[k], 1e-9)
			}
			if least == nil {
				least = slices.Clone(u.pass)
			}
			for k, v := range u.pass {
				least[k] = math.Min(least[k], v)
			}
		}
	}
	for _, u := range out {
		if u.pass == nil {
			u.pass = make([]float64, kinds)
			copy(u.pass, least)
		}
	}
	g.last = s.Now
	return out
}

// entitle divides the GPUs of every type by tickets, up to the demand of each user.
func entitle(users []*user, room []float64) {
	total, tickets := floats.Sum(room), list.Sum(users, func(u *user) float64 { return u.tickets })
	order := slices.Clone(users)
	// Users of the smallest demand per ticket are satisfied first.
	slices.SortStableFunc(order, func(a, b *user) int { return cmp.Compare(a.demand/a.tickets, b.demand/b.tickets) })
	left := total
	for _, u := range order {
		share := math.Min(u.demand, left*u.tickets/tickets)
		left -= share
		tickets -= u.tickets
		for k, r := range room {
			u.due[k] = share * r / math.Max(total, 1)
		}
	}
}

// trade exchanges GPUs of two types between users that can use both, while one gains.
func trade(users []*user, fast, slow int) {
	type bid struct {
		*user
		gain float64 // of one fast GPU, in slow ones
	}
	var bids []bid
	for _, u := range users {
		if u.gain[slow] > 0 && u.gain[fast] > 0 {
			bids = append(bids, bid{u, u.gain[fast] / u.gain[slow]})
		}
	}
	slices.SortStableFunc(bids, func(a, b bid) int { return cmp.Compare(b.gain, a.gain) })
	for buyer, seller := 0, len(bids)-1; buyer < seller; {
		b, s := bids[buyer], bids[seller]
		price := math.Max(bids[buyer+1].gain, s.gain)
		if price <= 1 || b.gain <= price*(1+1e-9) && s.gain >= price*(1-1e-9) {
			return // the type is not faster, or nobody gains
		}
		n := math.Min(s.due[fast], b.due[slow]/price)
		n = math.Min(n, math.Max(0, s.demand-floats.Sum(s.due))/(price-1)) // it does not buy GPUs it cannot use
		s.due[fast] -= n
		b.due[fast] += n
		b.due[slow] -= n * price
		s.due[slow] += n * price
		if s.due[fast] <= 1e-9 || floats.Sum(s.due) >= s.demand-1e-9 {
			seller--
		} else {
			buyer++
		}
	}
}

// serveStride serves gangs on one type: next is the user of the smallest pass, which its gang
// raises as if it ran for a round.
func serveStride(q *queue, all *gangs, users []*user, kind int, slice float64) {
	s := all.state
	pass := make([]float64, len(users))
	waiting := make([][]int, len(users))
	for n, u := range users {
		pass[n] = u.pass[kind]
		for _, i := range u.jobs { // jobs whose slice lasts
			if o := all.option[i][kind]; o >= 0 && q.choice[i] == o {
				u.holds[kind] += size(&s.Jobs[i])
				pass[n] += slice * size(&s.Jobs[i]) / math.Max(u.due[kind], 1e-9)
			}
		}
		if u.due[kind] > 1e-9 {
			waiting[n] = slices.Clone(u.jobs)
			slices.SortStableFunc(waiting[n], func(a, b int) int { return cmp.Compare(s.Jobs[a].History.Ran, s.Jobs[b].History.Ran) })
		}
	}
	takeTurns(waiting, func(n int) float64 { return pass[n] }, func(n, i int) {
		if o := all.option[i][kind]; o >= 0 && q.choice[i] < 0 && q.try(i, o) {
			users[n].holds[kind] += size(&s.Jobs[i])
			pass[n] += slice * size(&s.Jobs[i]) / users[n].due[kind]
		}
	})
}
