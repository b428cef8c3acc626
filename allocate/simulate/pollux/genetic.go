package pollux

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"knee/allocate/simulate/agent"
)

// genetic is PolluxSched (Qiao et al., OSDI 2021, section 4.2) as published:
// NSGA-II over matrices of workers per job and node, with its repairs, among
// them that no two jobs of several nodes meet on one. It draws random numbers,
// so its figures equal the published ones only on average. The fit of its
// models has the published objective and another minimiser.
type genetic struct {
	rand  *rand.Rand
	front []genome // of the last round
	rows  []*job   // whose rows they have
}

// Settings of the published search.
const (
	populationSize = 100
	generations    = 100
	crossoverShare = 0.9
	mutationShare  = 0.1
)

func newGenetic(seed int64) *genetic {
	return &genetic{rand: rand.New(rand.NewPCG(uint64(seed), 0x706f6c))}
}

func (g *genetic) prepare(j *job) {
	if j.app.Name == "ncf" { // the published program does not tune it
		j.limits.Fixed = j.limits.Max
	}
	j.agent = &agent.Agent{Limits: j.limits, Speeds: &agent.Speeds{Fit: agent.Published}}
}

func (g *genetic) schedule(now float64, active []*job, h *slots) ([][]int, error) {
	order := slices.Clone(active)
	slices.SortStableFunc(order, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.attained, b.attained), cmp.Compare(a.Submit, b.Submit))
	})
	p := newProblem(order, h, now, g.rand)
	best := g.search(p)
	at := map[*job]int{}
	for i, j := range order {
		at[j] = i
	}
	out := make([][]int, len(active))
	for i, j := range active {
		for n, w := range best.row(at[j], p.nodes) {
			for range w {
				out[i] = append(out[i], n)
			}
		}
		if slices.Equal(slices.Sorted(slices.Values(j.nodes)), out[i]) && j.nodes != nil {
			out[i] = j.nodes
		}
	}
	return out, nil
}

// genome is an allocation: workers by job and node, row by row.
type genome struct {
	cells  []uint8
	f1, f2 float64 // both to be small
	rank   int
	crowd  float64
}

func (g *genome) row(j, nodes int) []uint8 { return g.cells[j*nodes : (j+1)*nodes] }

// search runs NSGA-II and keeps the best front for the next round.
func (g *genetic) search(p *problem) genome {
	population := p.initial(g.front, g.rows)
	seen := map[string]bool{}
	for i := range population {
		p.score(&population[i])
		seen[string(population[i].cells)] = true
	}
	population = survive(population, populationSize)
	for range generations - 1 {
		size := len(population)
		for tries := 0; len(population) < size+populationSize && tries < 3*populationSize; tries++ {
			for _, child := range p.cross(p.pick(population[:size]), p.pick(population[:size])) {
				p.mutate(child)
				p.repair(child)
				if seen[string(child)] {
					continue
				}
				seen[string(child)] = true
				next := genome{cells: child}
				p.score(&next)
				population = append(population, next)
			}
		}
		population = survive(population, populationSize)
		clear(seen)
		for i := range population {
			seen[string(population[i].cells)] = true
		}
	}
	best := 0
	g.front = g.front[:0]
	for i, c := range population {
		if c.f1 < population[best].f1 {
			best = i
		}
		if c.rank == 0 {
			g.front = append(g.front, c)
		}
	}
	g.rows = p.jobs
	return population[best]
}

// survive keeps the n best by rank of domination, then by crowding distance.
func survive(population []genome, n int) []genome {
	slices.SortStableFunc(population, func(a, b genome) int {
		return cmp.Or(cmp.Compare(a.f1, b.f1), cmp.Compare(a.f2, b.f2))
	})
	// Sorted by f1, a genome joins the first front whose latest has a larger
	// f2: all before it that have a smaller one dominate it.
	var fronts [][]int
	for i := range population {
		k := 0
		for k < len(fronts) {
			last := &population[fronts[k][len(fronts[k])-1]]
			if population[i].f2 < last.f2 || population[i].f1 == last.f1 && population[i].f2 == last.f2 {
				break
			}
			k++
		}
		if k == len(fronts) {
			fronts = append(fronts, nil)
		}
		fronts[k] = append(fronts[k], i)
		population[i].rank = k
	}
	for _, f := range fronts {
		crowd(population, f)
	}
	slices.SortStableFunc(population, func(a, b genome) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.crowd, a.crowd))
	})
	return population[:min(n, len(population))]
}

// crowd fills in the crowding distances of a front sorted by f1.
func crowd(population []genome, front []int) {
	first, last := &population[front[0]], &population[front[len(front)-1]]
	w1, w2 := last.f1-first.f1, first.f2-last.f2
	for i, n := range front {
		if i == 0 || i == len(front)-1 || w1 <= 0 || w2 <= 0 {
			population[n].crowd = math.Inf(1)
			continue
		}
		a, b := &population[front[i-1]], &population[front[i+1]]
		population[n].crowd = (b.f1-a.f1)/w1 + (a.f2-b.f2)/w2
	}
}
