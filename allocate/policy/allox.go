package policy

import (
	"math"
	"slices"

	"knee/internal/hungarian"
	"knee/internal/list"
)

// alloxAlpha is that of Gavel's evaluation of AlloX; mostMatched bounds the cubic matching.
const (
	alloxAlpha  = 0.3
	mostMatched = 120
)

// allox minimises the mean completion time over machines of different speed (Le et al.,
// EuroSys 2020, section 4.1): every waiting job is matched with a machine and a position k
// from the end of its queue, at cost k · processing time + time until the machine is free,
// and the first job in the queue of each free machine starts. Running jobs keep running.
// Only the share [alloxAlpha] of the jobs, those that wait longest, and at least as many as
// machines are free, takes part, so that no job starves (section 4.3); GPUs that are left
// go to others first. Simplified, see docs/policies.md.
func allox(q *queue) {
	q.keep()
	waiting, all := q.waiting(submitted), newGangs(q)
	machines := all.machines(q, waiting)
	free := list.Count(machines, func(m machine) bool { return m.busy == 0 })
	part := max(free, int(math.Ceil(alloxAlpha*float64(len(waiting)))))
	part = min(len(waiting), part, mostMatched)
	waiting, others := waiting[:part], waiting[part:]
	for m, i := range matched(all, waiting, machines) {
		if i >= 0 && machines[m].busy == 0 {
			q.try(i, all.option[i][machines[m].kind])
		}
	}
	for _, i := range others {
		q.serve(i)
	}
	q.fill(submitted)
}

// machine is one queue of AlloX.
type machine struct {
	kind int     // GPU type
	busy float64 // seconds until what runs there ends, 0 if it is free
}

// machines are groups of GPUs as large as the mean gang of the jobs that wait: free ones,
// and those that running jobs will leave.
func (g *gangs) machines(q *queue, waiting []int) []machine {
	if len(waiting) == 0 {
		return nil
	}
	mean := list.Sum(waiting, func(i int) float64 { return size(&g.state.Jobs[i]) }) / float64(len(waiting))
	left := slices.Clone(g.room)
	var out []machine
	for i, c := range q.choice {
		if c < 0 {
			continue
		}
		j := &g.state.Jobs[i]
		k := slices.Index(g.types, j.Options[c].Use.GPUType)
		n := float64(j.Options[c].Use.GPUs)
		left[k] -= n
		out = append(out, slices.Repeat([]machine{{k, math.Max(optionTime(j, c), 1)}}, int(math.Max(1, n/mean)))...)
	}
	for k, r := range left {
		if r > 0 {
			out = append(out, slices.Repeat([]machine{{k, 0}}, int(math.Max(1, r/mean)))...)
		}
	}
	return out
}

// matched is the first job of each machine, that furthest from the end of its queue; −1:
// none.
func matched(g *gangs, jobs []int, machines []machine) (first []int) {
	if len(jobs) == 0 || len(machines) == 0 {
		return nil
	}
	const never = 1e15 // a type the job cannot have
	cost := make([][]float64, len(jobs))
	for r, i := range jobs {
		cost[r] = make([]float64, 0, len(machines)*len(jobs))
		for position := 1; position <= len(jobs); position++ {
			for _, m := range machines {
				c := never
				if n := g.option[i][m.kind]; n >= 0 {
					c = float64(position)*optionTime(&g.state.Jobs[i], n) + m.busy
				}
				cost[r] = append(cost[r], c)
			}
		}
	}
	first, furthest := slices.Repeat([]int{-1}, len(machines)), make([]int, len(machines))
	for r, seat := range hungarian.Solve(cost) {
		m, position := seat%len(machines), seat/len(machines)+1
		if position > furthest[m] && cost[r][seat] < never {
			first[m], furthest[m] = jobs[r], position
		}
	}
	return first
}
