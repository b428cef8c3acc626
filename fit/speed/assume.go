package speed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/fit/speed/form"
)

// assumption is what a model takes for granted of what is not recorded.
type assumption struct {
	Fixed   bool    `json:"fixed_global_batch,omitempty"` // else the local batch was constant
	PerNode float64 `json:"per_node,omitempty"`           // workers that fill a node; 0: all links are alike
	// Which workers share their input, which then may limit them.
	Shared form.Sharing `json:"shared_input,omitempty"`
	// All communication passes one point: its time grows in proportion to the workers.
	Serial bool `json:"serial,omitempty"`
	// Launches of operations may take most of the compute time.
	Launched bool `json:"launch_bound,omitempty"`
	// Exchanges with parameter servers overlap with computing.
	Overlapped bool `json:"overlapped_servers,omitempty"`
	// The network of GPU types that were not measured on several nodes is
	// unknown; else it is that of a type that was.
	Separate bool `json:"separate_networks,omitempty"`
	// Workers from which on a slower tier of the network is used; 0: none.
	Tier float64 `json:"tier,omitempty"`
	// Workers from which on every doubling slows a step by the same factor; 0: none.
	Slowing float64 `json:"slowing,omitempty"`
	// The row of this number, from 1, is a gross error; 0: none.
	Disturbed int `json:"disturbed,omitempty"`
}

func (g *group) assumed() assumption {
	return assumption{g.scale.Fixed, g.scale.PerNode, g.scale.Shared, g.serial, g.scale.Launched, g.scale.Overlapped, g.separate, g.tier, g.slowing, g.disturbed}
}

// assumptions returns the group's own and the other possible ones, all equally
// likely. Without batches, the local or the global one was the same in all
// rows. Without nodes, all links are alike, or nodes have [form.GPUsPerNode]. GPU
// types share the network between nodes, or those not measured on it have others.
func (g *group) assumptions() []assumption {
	own := g.assumed()
	all := []assumption{own}
	if !g.learned() {
		return all
	}
	if g.without > 0 && g.mode != data.PSAsync {
		all = append(all, assumption{Fixed: !own.Fixed, PerNode: own.PerNode})
	}
	if g.family == form.CollectiveFamily && g.nowhere() {
		for _, a := range all {
			for _, size := range g.nodeSizes() {
				if size != own.PerNode {
					all = append(all, assumption{Fixed: a.Fixed, PerNode: size})
				}
			}
		}
	}
	if _, others := g.networked(); others != nil {
		for _, a := range all {
			a.Separate = true
			all = append(all, a)
		}
	}
	return all
}

// betweenNodesAlone reports whether of several numbers of workers, those that communicate
// all do so between nodes, so that the links inside may take any share of it.
func (g *group) betweenNodesAlone() bool {
	return len(g.numbersOfWorkers()) > 1 && !slices.ContainsFunc(g.pts, func(p form.Point) bool { return p.Workers > 1 && p.Assume(&g.scale).Nodes == 1 })
}

// nodeSizes are the workers that may fill a node where nodes are unknown: 0 if all links are
// alike, [form.GPUsPerNode], and powers of two between numbers of workers measured far apart.
func (g *group) nodeSizes() []float64 {
	all, sizes := []float64{0, form.GPUsPerNode}, g.numbersOfWorkers()
	for i := range sizes[1:] {
		for size := 2.; size < sizes[i+1]; size *= 2 {
			if size > sizes[i] && sizes[i+1] > 2*sizes[i] && size != form.GPUsPerNode {
				all = append(all, size)
			}
		}
	}
	return all
}

// nowhere reports whether GPUs of some type were measured without nodes.
func (g *group) nowhere() bool {
	for t := range g.types {
		if g.types[t] != "cpu" && !g.ranges[t].Placed {
			return true
		}
	}
	return false
}

// begin settles the group under its likeliest assumption.
func (g *group) begin(ctx context.Context) error {
	if err := g.settle(ctx); err != nil {
		return err
	}
	for _, a := range g.assumptions()[1:] {
		other, err := g.like(a, nil)
		if err == nil {
			err = other.settle(ctx)
		}
		if err != nil {
			return err
		}
		if other.evidence > g.evidence {
			*g = *other
		}
	}
	return nil
}

// like returns an unfitted model of the same measurements under another
// assumption, without parts of the form.
func (g *group) like(a assumption, absent []string) (*group, error) {
	m := *g
	m.scale.Fixed, m.scale.PerNode, m.scale.Shared = a.Fixed, a.PerNode, a.Shared
	m.scale.Launched, m.scale.Overlapped = a.Launched, a.Overlapped
	m.serial, m.separate, m.tier, m.slowing, m.disturbed = a.Serial, a.Separate, a.Tier, a.Slowing, a.Disturbed
	m.absent, m.members = absent, nil
	if a.Disturbed > 0 {
		m.rows = slices.Clone(g.rows)
		m.rows[a.Disturbed-1].inflated = sq(math.Log(outlierFactor))
	}
	return &m, m.prepare()
}

// variant is a change of the form, with its prior odds.
type variant struct {
	absent     []string
	shared     form.Sharing
	serial     bool
	launched   bool
	overlapped bool
	odds       float64
}

// limitOdds are the odds of each limit of a form: together the three of [limits]
// are as likely as the form.
const limitOdds = 1. / 3

// insideNodes is what is absent where communication takes no time inside nodes.
const insideNodes = "inside nodes"

// limits returns the limits of a form without its part independent of the batch,
// without communication, and without both.
func limits(fixed, links []string) (all []variant) {
	for _, absent := range [][]string{fixed, links, slices.Concat(fixed, links)} {
		all = append(all, variant{absent: absent, odds: limitOdds})
	}
	return all
}

// others returns further models of the same measurements, with their prior odds
// relative to the group's: variants of the form under all assumptions, also those on
// the largest size.
func (g *group) others() (out []member, err error) {
	few := g.few()
	largest, odds := []assumption{{}}, []float64{1}
	if few || g.suspect {
		largest, odds = g.ofLargest()
	}
	variants := g.variants(few)
	for i, a := range g.assumptions() {
		for j, v := range variants {
			for k, l := range largest {
				if i+j+k == 0 || k > 0 && (v.shared != "" || v.serial) { // not two rare things at once
					continue
				}
				a.Shared, a.Serial, a.Launched, a.Overlapped = v.shared, v.serial, v.launched, v.overlapped
				a.Tier, a.Slowing, a.Disturbed = l.Tier, l.Slowing, l.Disturbed
				m, err := g.like(a, v.absent)
				if err != nil {
					return nil, err
				}
				if slices.Contains(v.absent, insideNodes) && !m.betweenNodesAlone() {
					continue
				}
				out = append(out, member{group: m, odds: v.odds * odds[k]})
			}
		}
	}
	return out, nil
}

// few reports whether there are at most two measurements per coordinate: more suffice
// without the limits of a form.
func (g *group) few() bool { return len(g.rows) <= 2*g.task.coords.n }

// variants returns the form and its variants.
//
// In its limits there is no part of a step independent of the batch, no time on links
// (Amdahl's law), or neither (linear scaling). The prior of the form gives them little
// probability, which few measurements do not correct; together they are as likely as
// the form. The limit of a layout measured alone is that of a large model, whose
// launches, gradients, optimizer and constant vanish beside its work.
//
// Or all communication passes one point; or workers share what their input comes from,
// or get it in turn; or exchanges with parameter servers overlap with computing.
func (g *group) variants(few bool) []variant {
	all := []variant{{odds: 1}}
	switch g.family {
	case form.LayoutFamily:
		if few && g.oneLayout() {
			all = append(all, variant{absent: []string{"launch", "gradient", "optimizer", "constant"}, odds: 1})
		}
	case form.ServerFamily:
		if few {
			all = append(all, limits([]string{"fixed"}, serverLinks)...)
		}
		all = append(all, variant{overlapped: true, odds: 1})
	case form.CollectiveFamily:
		if few {
			all = append(all, limits([]string{"fixed_share"}, []string{"intra"})...)
			all = append(all, variant{absent: []string{insideNodes}, odds: limitOdds})
		}
		n, odds := len(g.numbersOfWorkers()), g.prior.Shared
		if n >= 3 { // with two, it looks like communication
			all = append(all, variant{serial: true, odds: odds}, variant{shared: form.ByNode, odds: 2 * odds}, variant{shared: form.ByAll, odds: odds})
		}
		if n > 3 { // with three, it looks like less overlap
			all = append(all, variant{shared: form.InTurn, odds: odds})
		}
	}
	if g.oneBatch() || few && g.family == form.CollectiveFamily {
		all = append(all, g.launchBound(few)...)
	}
	return all
}

// serverLinks are the coordinates of communication with parameter servers.
var serverLinks = []string{"transfer", "per_worker", "per_server", "update"}

// launchBound returns the variants in which launches of operations may take most of the
// compute time: for every batch, or until computing takes longer. Their odds are those of
// a limit, times the probability that launches can take that long.
func (g *group) launchBound(few bool) []variant {
	odds := g.launchesAbove(g.scale.Time)
	if g.family != form.LayoutFamily { // whose limit is as likely as the form
		odds *= limitOdds
	}
	all := []variant{{launched: true, odds: odds}}
	switch {
	case g.family == form.CollectiveFamily:
		all = append(all, variant{launched: true, absent: []string{"per_batch"}, odds: odds})
	case few && g.family == form.ServerFamily:
		all = append(all, variant{launched: true, absent: serverLinks, odds: odds})
	}
	return all
}

// ofLargest returns assumptions on the largest size, on which predictions of
// larger ones rely, with their odds: it is as the others; or on a slower tier of
// the network; or one of its rows, off by more than a standard deviation of what the
// others predict, is a gross error (Box and Tiao, "A Bayesian approach to some outlier
// problems", 1968); or, as likely, something slows all larger sizes too.
func (g *group) ofLargest() (all []assumption, odds []float64) {
	all, odds = []assumption{{}}, []float64{1}
	sizes := g.numbersOfWorkers()
	if n := len(sizes); n >= 3 && g.family == form.CollectiveFamily {
		halvings := sq(g.prior.Kernel.Tiers / math.Ln2) // expected tiers, each half as fast, per factor of e
		all, odds = append(all, assumption{Tier: sizes[n-1]}), append(odds, halvings*math.Log(sizes[n-1]/sizes[n-2]))
	}
	if len(g.rows) < 3 || g.family == form.ServerFamily { // many workers may saturate servers
		return all, odds
	}
	misses, sds, err := g.leaveOneOut()
	if err != nil {
		return all, odds
	}
	slows := false
	for i := range misses {
		if r := &g.rows[i]; g.pts[i].Workers == sizes[len(sizes)-1] && r.inflated == 0 && math.Abs(misses[i]) > sds[i] && !r.agrees(math.Abs(misses[i])) {
			all, odds = append(all, assumption{Disturbed: 1 + i}), append(odds, g.prior.Disturbed)
			slows = slows || misses[i] > 0
		}
	}
	if slows {
		all, odds = append(all, assumption{Slowing: sizes[len(sizes)-1]}), append(odds, g.prior.Disturbed)
	}
	return all, odds
}

// oneBatch reports whether all rows have the same local batch.
func (g *group) oneBatch() bool {
	b := g.rows[0].LocalBatch
	return b > 0 && !slices.ContainsFunc(g.rows, func(r row) bool { return r.LocalBatch != b })
}

// oneLayout reports whether only the number of workers and batches differ.
func (g *group) oneLayout() bool {
	return !slices.ContainsFunc(g.rows, func(r row) bool { return r.Layout != g.rows[0].Layout })
}

func (g *group) numbersOfWorkers() []float64 {
	of := map[float64]bool{}
	for i := range g.pts {
		of[g.pts[i].Workers] = true
	}
	return sortedKeys(of)
}

// share returns the posterior probability of the models of the average that
// satisfy a condition.
func (g *group) share(is func(assumption) bool) (p float64) {
	rest := 1.
	for _, m := range g.members {
		rest -= m.share
		if is(m.assumed()) {
			p += m.share
		}
	}
	if is(g.assumed()) {
		p += rest
	}
	return p
}

// unknowns warns of measurements without batches and nodes, and of a largest size
// that may be disturbed.
func (g *group) unknowns(where string) (w []string) {
	if g.without > 0 {
		fixed := g.share(func(a assumption) bool { return a.Fixed })
		w = append(w, fmt.Sprintf("%s%d of %d measurements have no batch, so it is inferred from the step times which one stayed the same: the global batch with a probability of %.0f %%, else the local one; add a column local_batch or global_batch",
			where, g.without, len(g.rows), 100*fixed))
	}
	disturbed, slower := g.share(func(a assumption) bool { return a.Disturbed > 0 }), g.share(func(a assumption) bool { return a.Tier > 0 || a.Slowing > 0 })
	if disturbed+slower > 1./2 && len(g.outliers) == 0 {
		what := "the largest size does"
		if len(g.numbersOfWorkers()) == 1 {
			what = "one measurement does"
		}
		w = append(w, fmt.Sprintf("%s%s not fit the others: with a probability of %.0f %% its run was disturbed, with one of %.0f %% larger sizes are slower too; measure it again",
			where, what, 100*disturbed, 100*slower))
	}
	if g.family == form.CollectiveFamily && g.nowhere() {
		w = append(w, fmt.Sprintf("%sno measurement has nodes: beyond %d GPUs links may be slower; add a column nodes", where, form.GPUsPerNode))
	}
	return w
}
