package speed

import (
	"math"
	"slices"

	"knee/data"
	"knee/fit/prior"
)

// borrowed is what a fit takes over from other jobs of the same cluster and
// from what the user knows of its links.
type borrowed struct {
	Jobs []string `json:"jobs,omitempty"` // whose fits it comes from
	// Coordinates replace those of the learned prior.
	Coordinates  map[string]prior.Coordinate `json:"coordinates,omitempty"`
	MessageBytes float64                     `json:"message_bytes,omitempty"` // that one synchronisation moves per worker
	Interconnect float64                     `json:"interconnect,omitempty"`  // bytes/s between nodes
}

// borrow learns the links of the cluster from other jobs, for every GPU type.
//
// Each coordinate of the links is the mean over jobs, plus an effect of the
// cluster, plus one of the job. The variance over jobs is that of both; the
// share of the cluster's is part of the prior. What other jobs measured says
// something of the effect of the cluster: the prior becomes its posterior
// with the effect of the job on top. Where two workers were never measured
// together, how synchronisation compares with computing is borrowed as well.
func (g *group) borrow(s Settings) ([]borrowed, error) {
	all := make([]borrowed, len(g.types))
	for t := range all {
		b := &all[t]
		b.MessageBytes, b.Interconnect = s.MessageBytes, s.Interconnect
		if g.mode != data.AllReduce || !g.learned() {
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
		prior, err := g.coordinates(shared, t)
		if err != nil {
			return nil, err
		}
		b.Coordinates = map[string]Coordinate{}
		for i, name := range shared {
			b.Coordinates[name] = g.cluster(prior[i], name, lenders)
		}
	}
	return all, nil
}

// Coordinate is the prior of one coordinate.
type Coordinate = prior.Coordinate

// lender is a GPU type of another job.
type lender struct {
	job string
	g   *group
	t   int
}

// lendersOf returns the other jobs that were measured on several nodes: those
// on the same GPU type if there are any, else those on others. A job counts once.
func lendersOf(others []*Model, gpuType string) []lender {
	var same, other []lender
	for _, m := range others {
		for _, g := range m.groups {
			if g.mode != data.AllReduce || !g.learned() {
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

// cluster returns the prior of a coordinate given what lenders say of it.
func (g *group) cluster(p Coordinate, name string, lenders []lender) Coordinate {
	own := g.prior.Own * p.SD * p.SD // variance of the job's effect
	common := p.SD*p.SD - own        // of the cluster's
	precision, sum := 1/common, 0.
	for _, l := range lenders {
		at := slices.Index(l.g.task.form.Names(), name)
		if at < 0 {
			continue
		}
		at += l.t * l.g.task.coords.n
		// What the measurements alone say: the posterior without its prior.
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

// Mean and sd of the logarithm of the share of a link's bandwidth that training
// reaches between two nodes: those of a share that may be any, uniform from 0 to 1.
const achievedLn, achievedSD = -1, 1

// link is what bytes and bandwidth say of the time between two nodes of a
// GPU type, as a further observation of intra + inter_over_intra.
type link struct {
	intra, inter int // their places in θ
	sum          float64
}

// links returns those of all GPU types.
func (g *group) links(names []string) []link {
	var all []link
	for t, b := range g.borrowed {
		if b.MessageBytes > 0 && b.Interconnect > 0 && g.mode == data.AllReduce && g.learned() {
			all = append(all, link{
				t*len(names) + slices.Index(names, "intra"), t*len(names) + slices.Index(names, "inter_over_intra"),
				math.Log(b.MessageBytes/b.Interconnect) - achievedLn - math.Log(g.scale.Time),
			})
		}
	}
	return all
}
