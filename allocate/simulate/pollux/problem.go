package pollux

import (
	"math"
	"math/rand/v2"
)

// problem is one round of the genetic scheduler.
type problem struct {
	rand  *rand.Rand
	jobs  []*job
	nodes int
	gpus  []int // per node
	total int
	base  []uint8        // what is there now
	most  []int          // workers per job
	keep  []float64      // factor on a job whose row changes
	speed [][2][]float64 // speed-up by job, one node or several, workers; −1 if not asked yet
	share int            // workers of an equal share
}

func newProblem(jobs []*job, h *slots, now float64, r *rand.Rand) *problem {
	p := &problem{rand: r, jobs: jobs, nodes: len(h.gpus), gpus: h.gpus, total: h.total,
		base: make([]uint8, len(jobs)*len(h.gpus)), share: (h.total + len(jobs) - 1) / len(jobs)}
	for i, j := range jobs {
		for _, n := range j.nodes {
			p.base[i*p.nodes+n]++
		}
		most := min(max(2*j.agent.MostWorkers, 1), h.total, int(j.limits.Max/j.limits.LocalMin))
		if j.limits.Fixed > 0 {
			most = 1
		}
		p.most = append(p.most, most)
		age := now - j.Submit
		p.keep = append(p.keep, math.Max(age-restartDelay*float64(j.restarts), 0)/(age+restartDelay))
		var table [2][]float64
		for k := range table {
			table[k] = make([]float64, most+1)
			for w := range table[k] {
				table[k][w] = -1
			}
		}
		p.speed = append(p.speed, table)
	}
	return p
}

// speedup is the modelled goodput over that of an equal share on one node.
func (p *problem) speedup(i, nodes, workers int) float64 {
	if workers == 0 {
		return 0
	}
	v := &p.speed[i][min(nodes, 2)-1][workers]
	if *v >= 0 {
		return *v
	}
	a := p.jobs[i].agent
	if !a.Ready() {
		*v = float64(workers) / float64(p.share)
		return *v
	}
	_, own := a.Best(nodes, workers)
	_, fair := a.Best(1, p.share)
	*v = 0
	if fair > 0 {
		*v = own / fair
	}
	return *v
}

// score fills in the two objectives: the negative harmonic mean of speed-ups,
// and the negative speed-up per GPU of the nodes in use.
func (p *problem) score(g *genome) {
	var inverse, sum float64
	used := make([]bool, p.nodes)
	for i := range p.jobs {
		row := g.row(i, p.nodes)
		nodes, workers, same := 0, 0, true
		for n, w := range row {
			if w > 0 {
				nodes++
				workers += int(w)
				used[n] = true
			}
			same = same && w == p.base[i*p.nodes+n]
		}
		s := p.speedup(i, nodes, workers)
		sum += s
		x := s * float64(p.nodes) / float64(p.total)
		if !same {
			x *= p.keep[i]
		}
		inverse += 1 / (x + 1e-3)
	}
	gpus := 0
	for n, u := range used {
		if u {
			gpus += p.gpus[n]
		}
	}
	g.f1 = -float64(len(p.jobs)) / inverse
	g.f2 = 0
	if gpus > 0 {
		g.f2 = -sum / float64(gpus)
	}
}

// initial is the last front with the rows of the jobs there are now, or what
// is there if there was none.
func (p *problem) initial(front []genome, rows []*job) []genome {
	at := map[*job]int{}
	for i, j := range rows {
		at[j] = i
	}
	seen := map[string]bool{}
	var out []genome
	for _, g := range front {
		cells := make([]uint8, len(p.jobs)*p.nodes)
		for i, j := range p.jobs {
			if old, ok := at[j]; ok {
				copy(cells[i*p.nodes:(i+1)*p.nodes], g.row(old, p.nodes))
			}
		}
		p.repair(cells)
		if !seen[string(cells)] {
			seen[string(cells)] = true
			out = append(out, genome{cells: cells})
		}
	}
	if out == nil {
		cells := append([]uint8(nil), p.base...)
		p.repair(cells)
		out = []genome{{cells: cells}}
	}
	return out
}

// pick is a binary tournament: the one that dominates, else the less crowded,
// else either.
func (p *problem) pick(population []genome) *genome {
	a, b := &population[p.rand.IntN(len(population))], &population[p.rand.IntN(len(population))]
	switch {
	case a.f1 <= b.f1 && a.f2 <= b.f2 && (a.f1 < b.f1 || a.f2 < b.f2):
		return a
	case b.f1 <= a.f1 && b.f2 <= a.f2 && (b.f1 < a.f1 || b.f2 < a.f2):
		return b
	case a.crowd > b.crowd:
		return a
	case b.crowd > a.crowd:
		return b
	case p.rand.IntN(2) == 0:
		return a
	}
	return b
}

// cross swaps the rows before a random cut, most of the time.
func (p *problem) cross(a, b *genome) [2][]uint8 {
	x, y := append([]uint8(nil), a.cells...), append([]uint8(nil), b.cells...)
	if p.rand.Float64() < crossoverShare {
		cut := p.rand.IntN(len(p.jobs)) * p.nodes
		for k := range cut {
			x[k], y[k] = y[k], x[k]
		}
	}
	return [2][]uint8{x, y}
}

// mutate returns rows to what is there now, empties cells, and grows cells on
// nodes with room.
func (p *problem) mutate(cells []uint8) {
	row := func(i int) []uint8 { return cells[i*p.nodes : (i+1)*p.nodes] }
	for i := range p.jobs {
		if p.rand.Float64() < mutationShare {
			copy(row(i), p.base[i*p.nodes:(i+1)*p.nodes])
		}
	}
	for i := range p.jobs {
		if p.rand.Float64() >= mutationShare {
			continue
		}
		for n := range row(i) {
			if p.rand.Float64() < mutationShare {
				row(i)[n] = 0
			}
		}
	}
	p1 := 1 / float64(len(p.jobs))
	for n := range p.nodes {
		present, used := 0, 0
		for i := range p.jobs {
			if w := cells[i*p.nodes+n]; w > 0 {
				present++
				used += int(w)
			}
		}
		if used >= p.gpus[n] {
			continue
		}
		for i := range p.jobs {
			c := &cells[i*p.nodes+n]
			share := p1
			if *c > 0 {
				p2 := 1 / float64(present)
				share = p1 + p2 - p1*p2
			}
			if p.rand.Float64() < share {
				*c += uint8(p.rand.IntN(p.gpus[n] - int(*c) + 1))
			}
		}
	}
}

// repair makes an allocation possible: no two jobs of several nodes on one,
// no more workers than a job may have, no more than a node has.
func (p *problem) repair(cells []uint8) {
	several := make([]bool, len(p.jobs))
	for i := range p.jobs {
		nodes := 0
		for _, w := range cells[i*p.nodes : (i+1)*p.nodes] {
			if w > 0 {
				nodes++
			}
		}
		several[i] = nodes > 1
	}
	for n := range p.nodes {
		met := 0
		for i := range p.jobs {
			c := &cells[i*p.nodes+n]
			if *c > 0 && several[i] {
				met++
			}
			if met > 1 {
				*c = 0
			}
		}
	}
	for i := range p.jobs {
		left := p.most[i]
		row := cells[i*p.nodes : (i+1)*p.nodes]
		total := 0
		for _, w := range row {
			total += int(w)
		}
		if total <= left {
			continue
		}
		for _, n := range p.rand.Perm(p.nodes) {
			row[n] = uint8(min(int(row[n]), left))
			left -= int(row[n])
		}
	}
	for n := range p.nodes {
		left := p.gpus[n]
		for i := range p.jobs {
			c := &cells[i*p.nodes+n]
			*c = uint8(min(int(*c), left))
			left -= int(*c)
		}
	}
}
