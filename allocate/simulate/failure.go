package simulate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"knee/allocate/place"
	"knee/data"
	"knee/internal/grouped"
)

// Failure is an outage of a node. Jobs on it lose the progress since their checkpoint.
type Failure struct {
	Node     string
	From, To float64 // seconds
}

// RandomFailures draws failures of every node up to a time, with exponential times
// between them, mtbf seconds on average; each lasts repair seconds.
func RandomFailures(c *data.Cluster, mtbf, repair, until float64, seed int64) (out []Failure) {
	for i, n := range c.Nodes {
		r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		for t := r.ExpFloat64() * mtbf; t < until; t += repair + r.ExpFloat64()*mtbf {
			out = append(out, Failure{Node: n.Name, From: t, To: t + repair})
		}
	}
	return out
}

// outage is the begin or the end of a failure.
type outage struct {
	at   float64
	node string
	down bool
}

// plan sorts the ends of all failures by time.
func (r *replay) plan() error {
	_, known := grouped.By(r.Cluster.Nodes, func(n data.Node) string { return n.Name })
	for _, f := range r.Failures {
		if len(known[f.Node]) == 0 || !(f.From >= 0) || !(f.To > f.From) || math.IsInf(f.To, 0) {
			return fmt.Errorf("simulate: failure of node %q from %g to %g s, want a node of the cluster and a time that ends", f.Node, f.From, f.To)
		}
		r.outages = append(r.outages, outage{f.From, f.Node, true}, outage{f.To, f.Node, false})
	}
	slices.SortStableFunc(r.outages, func(a, b outage) int { return cmp.Compare(a.at, b.at) })
	r.down = map[string]int{}
	return nil
}

// fail begins and ends outages of nodes, and stops the jobs on failed nodes.
func (r *replay) fail() bool {
	n := 0
	for n < len(r.outages) && r.outages[n].at <= r.now {
		if r.outages[n].down { // outages of a node may overlap
			r.down[r.outages[n].node]++
		} else {
			r.down[r.outages[n].node]--
		}
		n++
	}
	if n == 0 {
		return false
	}
	r.outages = r.outages[n:]
	r.present = &data.Cluster{Source: r.Cluster.Source, Nodes: slices.Clone(r.Cluster.Nodes)}
	for i := range r.present.Nodes {
		n := &r.present.Nodes[i]
		n.Drained = n.Drained || r.down[n.Name] > 0
	}
	var kept []place.Request
	for _, j := range r.active {
		switch {
		case slices.ContainsFunc(j.nodes, func(s data.NodeShare) bool { return r.down[s.Node] > 0 }):
			if r.Checkpoint > 0 { // it goes on where its last checkpoint left it
				j.outcome.Lost += j.done - j.saved
				j.done = j.saved
			}
			j.stop()
		case j.nodes != nil && !j.guest:
			kept = append(kept, place.Request{Config: j.config, Current: j.nodes})
		}
	}
	r.placer = place.New(r.present)
	r.placer.Keep(kept)
	return true
}
