package policy

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/policy/gavel"
)

// gangs are the jobs of a state with the option of each GPU type in the size they asked for.
type gangs struct {
	state  allocate.State
	types  []string
	room   []float64 // GPUs of a type
	option [][]int   // by job and type: the index in its options, −1 for none
}

func newGangs(q *queue) *gangs {
	s := q.state
	g := &gangs{state: s, types: s.Cluster.GPUTypes()}
	for b := range g.types {
		g.room = append(g.room, q.Limit[q.Branches[b].Dims[0]])
	}
	for i := range s.Jobs {
		option := slices.Repeat([]int{-1}, len(g.types))
		for _, n := range gang(&s.Jobs[i]) {
			if k := slices.Index(g.types, s.Jobs[i].Options[n].Use.GPUType); k >= 0 && option[k] < 0 {
				option[k] = n
			}
		}
		g.option = append(g.option, option)
	}
	return g
}

// speed is the predicted goodput of job i on type k, 0 where it cannot run.
func (g *gangs) speed(i, k int) float64 {
	if n := g.option[i][k]; n >= 0 {
		return math.Max(0, g.state.Jobs[i].Options[n].Answer.Goodput.Mean)
	}
	return 0
}

// problem is the division of time on types among the gangs.
func (g *gangs) problem() *gavel.Problem {
	p := &gavel.Problem{GPUs: g.room}
	for i := range g.state.Jobs {
		speed := make([]float64, len(g.types))
		for k := range speed {
			speed[k] = g.speed(i, k)
		}
		p.Speed, p.Size = append(p.Speed, speed), append(p.Size, size(&g.state.Jobs[i]))
	}
	return p
}

// left is the remaining work of job i, in units of speed × seconds.
func (g *gangs) left(i int) (fastest float64) {
	for k := range g.types {
		fastest = math.Max(fastest, g.speed(i, k))
	}
	return math.Max(timeLeft(&g.state.Jobs[i])*fastest, 1e-6)
}
