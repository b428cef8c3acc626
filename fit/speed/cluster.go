package speed

import (
	"math"
	"slices"

	"knee/fit/prior"
	"knee/fit/speed/form"
)

// borrowed is the part of a prior that comes from other jobs of the cluster and
// from settings on its links.
type borrowed struct {
	Jobs []string `json:"jobs,omitempty"` // jobs it was fitted to
	// Coordinates replace those of the learned prior.
	Coordinates  map[string]prior.Coordinate `json:"coordinates,omitempty"`
	MessageBytes float64                     `json:"message_bytes,omitempty"` // bytes that one synchronisation moves per worker
	Interconnect float64                     `json:"interconnect,omitempty"`  // bytes/s between nodes
}

// borrow fits the cluster's links to other jobs, for every GPU type.
//
// Each coordinate of the links is the mean over jobs plus an effect of the
// cluster and one of the job; the prior gives the variance of each.
// Measurements of other jobs narrow the cluster's effect; the job's effect is
// added to the result. If no two workers were measured on one node, coordinates
// that relate synchronisation to computing are borrowed as well.
func (g *group) borrow(s Settings) ([]borrowed, error) {
	all := make([]borrowed, len(g.types))
	for t := range all {
		b := &all[t]
		b.MessageBytes, b.Interconnect = s.MessageBytes, s.Interconnect
		if g.family != form.CollectiveFamily {
			continue
		}
		lenders := lendersOf(s.Others, g.types[t])
		for _, l := range lenders {
			b.Jobs = append(b.Jobs, l.job)
		}
		if len(lenders) == 0 {
			continue
		}
		shared := []string{"inter_over_intra", "tree", "power"}
		if g.ranges[t].Widest[1] < 2 {
			shared = append(shared, "intra", "overlap")
		}
		own, err := g.coordinates(shared, t)
		if err != nil {
			return nil, err
		}
		b.Coordinates = map[string]prior.Coordinate{}
		for i, name := range shared {
			b.Coordinates[name] = g.cluster(own[i], name, lenders)
		}
	}
	return all, nil
}

// lender is a GPU type of another job.
type lender struct {
	job string
	g   *group
	t   int
}

// lendersOf returns the other jobs measured on several nodes, on the same GPU
// type if there are any, else on others. A job counts once.
func lendersOf(others []*Model, gpuType string) []lender {
	var same, other []lender
	for _, m := range others {
		for _, g := range m.groups {
			if g.family != form.CollectiveFamily {
				continue
			}
			for t, gpu := range g.types {
				to := &other
				if gpu == gpuType {
					to = &same
				}
				if g.ranges[t].Nodes[1] > 1 && !slices.ContainsFunc(*to, func(l lender) bool { return l.job == m.job }) {
					*to = append(*to, lender{m.job, g, t})
				}
			}
		}
	}
	if len(same) > 0 {
		return same
	}
	return other
}

// cluster returns the prior of a coordinate given lenders.
func (g *group) cluster(p prior.Coordinate, name string, lenders []lender) prior.Coordinate {
	own := g.prior.Own * p.SD * p.SD // variance of the job's effect
	common := p.SD*p.SD - own        // variance of the cluster's effect
	precision, sum := 1/common, 0.
	for _, l := range lenders {
		at := slices.Index(l.g.task.form.Names(), name)
		if at < 0 {
			continue
		}
		at += l.t * l.g.task.coords.n
		if slices.ContainsFunc(l.g.task.coords.totals, func(t total) bool { return t.intra == at }) {
			continue // its prior is not of the same quantity
		}
		// The likelihood: the posterior without its prior.
		before := sq(l.g.task.coords.sd(at))
		theta, after := l.g.post.moments(at)
		if !(after < before) {
			continue
		}
		v := 1 / (1/after - 1/before)
		mean := v * (theta/after - l.g.task.coords.mean[at]/before)
		precision += 1 / (v + own)
		sum += (mean - p.Mean) / (v + own)
	}
	p.Mean += sum / precision
	p.SD = math.Sqrt(own + 1/precision)
	return p
}

// Mean and sd of ln of the achieved share of the bandwidth between two nodes:
// those of a uniform share from 0 to 1.
const achievedLn, achievedSD = -1, 1

// link is a further observation of intra + inter_over_intra: the time between
// two nodes of a GPU type from bytes and bandwidth.
type link struct {
	intra, inter int // indices in θ
	sum          float64
}

// links returns the links of all GPU types.
func (g *group) links(names []string) []link {
	var all []link
	for t, b := range g.borrowed {
		if b.MessageBytes > 0 && b.Interconnect > 0 && g.family == form.CollectiveFamily {
			all = append(all, link{
				t*len(names) + slices.Index(names, "intra"), t*len(names) + slices.Index(names, "inter_over_intra"),
				math.Log(b.MessageBytes/b.Interconnect) - achievedLn - math.Log(g.scale.Time),
			})
		}
	}
	return all
}

// sharedSD is the sd of ln of the ratio of a time of two GPU types that does not depend
// on the GPU, between two nodes of a network that both use or of the hosts' launches:
// within a factor of two.
const sharedSD = math.Ln2

// networked returns the first GPU type that was measured on several nodes, and
// those that were not, in this job or others; nil if there is none of either.
func (g *group) networked() (measured int, others []int) {
	several := func(r measuredRange) bool { return r.Nodes[1] > 1 }
	measured = slices.IndexFunc(g.ranges, several)
	if measured < 0 || g.family != form.CollectiveFamily {
		return 0, nil
	}
	for t := range g.types {
		if !several(g.ranges[t]) && g.borrowed[t].Coordinates == nil {
			others = append(others, t)
		}
	}
	return measured, others
}

// relation adds a weighted sum of the parameters θ to one of them.
type relation struct {
	to      int
	weights []float64
}

// shared makes coordinates of GPU types relative to those with which a time is the same
// as on another type: between nodes where a type was not measured on several, the prior
// mean of a network that both share, and for launches, which are the hosts' work.
func (g *group) shared(names []string, blocks [][]prior.Coordinate) (all []relation) {
	same := func(t, as int, coordinate string, factors ...string) { // a time is a sum of logarithms
		at := slices.Index(names, coordinate)
		if at < 0 {
			return
		}
		r := relation{t*len(names) + at, make([]float64, len(g.types)*len(names))}
		for i, name := range names {
			if i == at || slices.Contains(factors, name) {
				r.weights[as*len(names)+i], r.weights[t*len(names)+i] = 1, -1
			}
		}
		r.weights[r.to] = 0
		blocks[t][at] = prior.Coordinate{SD: sharedSD, Own: 1}
		all = append(all, r)
	}
	measured, others := g.networked()
	for _, t := range others {
		same(t, measured, "inter_over_intra", "intra", form.TypeFactor)
	}
	for t := 1; t < len(g.types); t++ {
		if g.borrowed[t].Coordinates == nil {
			same(t, 0, "launch", "compute", form.TypeFactor)
		}
	}
	return all
}
