package policy

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
)

// Gavel divides time on every GPU type among gangs (Narayanan et al., OSDI
// 2020), by one of three objectives:
//
//   - max-min: the least weighted share of throughput, relative to that of an
//     equal share of every type, is to be large (section 4.1, least attained
//     service that knows how fast each type is), raised by water filling;
//   - finish-time fairness: the largest Themis ρ is to be small (section 4.2);
//   - makespan: the last job is to end soon (section 4.2).
//
// The fractions are turned into rounds as in section 5: jobs by fraction over
// the share of time already had, larger gangs first among equals, greedily.
//
// Approximated: the linear programme is filled in small steps, each giving
// the job that is worst off a slice of the type on which it is fastest for
// its price, the price of a type rising as it fills; that is near the optimum
// and needs no solver. Jobs do not share GPUs in space, and throughputs are
// what models predict instead of completed matrices.
type Gavel struct{ Objective GavelObjective }

// GavelObjective is what a [Gavel] policy maximises.
type GavelObjective int

// The objectives of Gavel.
const (
	GavelMaxMin GavelObjective = iota
	GavelFTF
	GavelMakespan
)

// slices of a job's time that are dealt out at once.
const gavelSlices = 20

// Allocate implements [allocate.Policy].
func (g Gavel) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	f := newFractions(s)
	f.fill(g.Objective)
	for _, t := range f.turns() {
		if q.choice[t.job] < 0 {
			q.try(t.job, t.option)
		}
	}
	for _, i := range sorted(s, submitted) { // nobody waits beside a free GPU
		if q.choice[i] < 0 {
			q.serve(i)
		}
	}
	return q.assignment(), nil
}

// turn is a claim of a job on a type.
type turn struct {
	job, option int
	priority    float64
}

// turns lists the claims, the one furthest behind its fraction first.
func (f *fractions) turns() []turn {
	var turns []turn
	for i := range f.state.Jobs {
		j := &f.state.Jobs[i]
		for k, n := range f.option[i] {
			if n < 0 || f.x[i][k] <= 0 {
				continue
			}
			p := math.Inf(1) // never had: first
			if had := j.History.ByType[f.types[k]]; had > 0 && j.History.Ran > 0 {
				p = f.x[i][k] * j.History.Ran * size(j) / had
			}
			turns = append(turns, turn{i, n, p})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(size(&f.state.Jobs[b.job]), size(&f.state.Jobs[a.job])))
	})
	return turns
}

// fractions is the time of jobs on types being dealt out.
type fractions struct {
	state  allocate.State
	types  []string
	room   []float64 // GPUs by type
	used   []float64
	option [][]int     // by job and type, −1 for none
	x      [][]float64 // fraction of the next period, by job and type
	speed  []float64   // goodput of the fractions
	equal  []float64   // goodput of an equal share of every type
}

func newFractions(s allocate.State) *fractions {
	f := &fractions{state: s, types: s.Cluster.GPUTypes()}
	f.room, f.used = make([]float64, len(f.types)), make([]float64, len(f.types))
	all := 0.0
	for _, n := range s.Cluster.Nodes {
		if !n.Drained {
			f.room[slices.Index(f.types, n.GPUType)] += float64(n.GPUs)
			all += float64(n.GPUs)
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		option := make([]int, len(f.types))
		for k := range option {
			option[k] = -1
		}
		equal := 0.0
		for _, n := range gang(j) {
			k := slices.Index(f.types, j.Options[n].Use.GPUType)
			if k >= 0 && option[k] < 0 {
				option[k] = n
				equal += j.Options[n].Answer.Goodput.Mean * f.room[k] / math.Max(all, 1)
			}
		}
		f.option, f.x = append(f.option, option), append(f.x, make([]float64, len(f.types)))
		f.speed, f.equal = append(f.speed, 0), append(f.equal, equal)
	}
	return f
}

// fill deals slices until nobody can take one.
func (f *fractions) fill(objective GavelObjective) {
	full := make([]bool, len(f.state.Jobs))
	for {
		worst, need := -1, math.Inf(-1)
		for i := range full {
			if full[i] {
				continue
			}
			if v := f.need(i, objective); v > need {
				worst, need = i, v
			}
		}
		if worst < 0 {
			return
		}
		if !f.slice(worst) {
			full[worst] = true
		}
	}
}

// need is how badly off a job is; the largest gets the next slice.
func (f *fractions) need(i int, objective GavelObjective) float64 {
	j := &f.state.Jobs[i]
	if f.equal[i] <= 0 {
		return math.Inf(-1)
	}
	share := f.speed[i] / f.equal[i]
	switch objective {
	case GavelFTF:
		left := remaining(j)
		if math.IsInf(left, 1) {
			left = unknownWork
		}
		age := f.state.Now - j.Submitted
		return (age + left/math.Max(share, 1e-9)) / math.Max(j.History.Ran+left, 1)
	case GavelMakespan:
		left := remaining(j)
		if math.IsInf(left, 1) {
			left = unknownWork
		}
		return left / math.Max(share, 1e-9)
	}
	return -share * size(j) / weightOf(j)
}

// slice gives a job a little more time on the type that pays best for its
// price.
func (f *fractions) slice(i int) bool {
	const d = 1.0 / gavelSlices
	total := 0.0
	for _, x := range f.x[i] {
		total += x
	}
	if total > 1-d/2 {
		return false
	}
	best, worth := -1, 0.0
	for k, n := range f.option[i] {
		if n < 0 {
			continue
		}
		o := &f.state.Jobs[i].Options[n]
		gpus := float64(o.Use.GPUs)
		if f.used[k]+d*gpus > f.room[k]+1e-9 {
			continue
		}
		price := math.Exp(2 * f.used[k] / f.room[k])
		if v := o.Answer.Goodput.Mean / price; v > worth {
			best, worth = k, v
		}
	}
	if best < 0 {
		return false
	}
	o := &f.state.Jobs[i].Options[f.option[i][best]]
	f.x[i][best] += d
	f.used[best] += d * float64(o.Use.GPUs)
	f.speed[i] += d * o.Answer.Goodput.Mean
	return true
}
