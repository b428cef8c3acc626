package policy

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
	"knee/internal/hungarian"
)

// AlloX minimises the mean completion time over machines of different speed
// (Le et al., EuroSys 2020, section 4.1): every job is matched with a type
// and a position k from the end of a queue on it, at cost k · processing time
// plus the time it has waited, and only those matched with a first position
// run now.
//
// Approximated: a queue is a group of GPUs as large as the mean gang, so that
// several queues of a type stand for its GPUs; of very many jobs only the
// shortest are matched, the others wait; the filter that keeps a share of
// jobs from starving (section 4.3) is left out. Whoever still fits beside the
// matched may run.
type AlloX struct{}

// mostMatched bounds the matching, which takes time with the cube of jobs.
const mostMatched = 120

// Allocate implements [allocate.Policy].
func (AlloX) Allocate(s allocate.State) (allocate.Assignment, error) {
	q, err := newQueue(s)
	if err != nil {
		return allocate.Assignment{}, err
	}
	order := sorted(s, shortestFirst)
	var jobs []int
	for _, i := range order {
		if len(s.Jobs[i].Options) > 0 && len(jobs) < mostMatched {
			jobs = append(jobs, i)
		}
	}
	f := newGangs(s)
	place := matchJobs(f, jobs)
	// First positions first, then whoever is nearest to one.
	slices.SortStableFunc(jobs, func(a, b int) int { return cmp.Compare(place[a].position, place[b].position) })
	for _, i := range jobs {
		if n := f.option[i][place[i].kind]; n < 0 || !q.try(i, n) {
			q.serve(i)
		}
	}
	for _, i := range order {
		if q.choice[i] < 0 {
			q.serve(i)
		}
	}
	return q.assignment(), nil
}

// seat is a type and a position from the end of a queue on it, 1 the last to
// run and so the one that delays nobody else.
type seat struct{ kind, position int }

// matchJobs solves the assignment. The shortest jobs get the largest k, which
// are the first to run; position is returned counted from the front.
func matchJobs(f *gangs, jobs []int) map[int]seat {
	var gangs float64
	for _, i := range jobs {
		gangs += size(&f.state.Jobs[i])
	}
	var seats []seat
	for k := range f.types {
		queues := max(1, int(f.room[k]*float64(len(jobs))/math.Max(gangs, 1)))
		for n := range len(jobs) {
			seats = append(seats, seat{k, n/queues + 1})
		}
	}
	const never = 1e15 // a type the job cannot have
	cost := make([][]float64, len(jobs))
	for r, i := range jobs {
		cost[r] = make([]float64, len(seats))
		for c, at := range seats {
			cost[r][c] = never
			if n := f.option[i][at.kind]; n >= 0 {
				t := f.state.Jobs[i].Options[n].Answer.TimeToTarget.Mean
				if t <= 0 {
					t = unknownWork
				}
				cost[r][c] = float64(at.position) * t
			}
		}
	}
	out := map[int]seat{}
	last := make([]int, len(f.types))
	match := hungarian.Solve(cost)
	for r := range jobs {
		at := seats[match[r]]
		last[at.kind] = max(last[at.kind], at.position)
	}
	for r, i := range jobs {
		at := seats[match[r]]
		out[i] = seat{at.kind, last[at.kind] - at.position}
	}
	return out
}
