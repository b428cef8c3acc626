package speed

import (
	"context"
	"fmt"
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
	// The network of GPU types that were not measured on several nodes is
	// unknown; else it is that of a type that was.
	Separate bool `json:"separate_networks,omitempty"`
}

func (g *group) assumed() assumption {
	return assumption{g.scale.Fixed, g.scale.PerNode, g.scale.Shared, g.separate}
}

// gpusPerNode is the largest number of GPUs of the usual node, with the links
// of a network beyond.
const gpusPerNode = 8

// assumptions returns the group's own and the other possible ones, all equally
// likely. Without batches, the local or the global one was the same in all
// rows. Without nodes, all links are alike, or nodes have [gpusPerNode]. GPU
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
			all = append(all, assumption{Fixed: a.Fixed, PerNode: gpusPerNode - own.PerNode})
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
	m.scale.Fixed, m.scale.PerNode, m.scale.Shared, m.separate, m.absent, m.members = a.Fixed, a.PerNode, a.Shared, a.Separate, absent, nil
	return &m, m.prepare()
}

// variant is a change of the form, with its prior odds.
type variant struct {
	absent []string
	shared form.Sharing
	odds   float64
}

// others returns further models of the same measurements, with their prior odds
// relative to the group's: under the other assumptions, and variants of the
// collective form. In its limits there is no part of a step independent of the
// batch, no time on links (Amdahl's law), or neither (linear scaling). The prior
// of the form gives them little probability, which few measurements do not
// correct; together they are as likely as the form. Or workers share what their
// input comes from. The limit of a layout measured alone is that of a large model,
// whose launches, gradients, optimizer and constant vanish beside its work. More
// than two measurements per coordinate suffice without variants.
func (g *group) others() ([]member, error) {
	variants := []variant{{odds: 1}}
	few := len(g.rows) <= 2*g.task.coords.n
	switch {
	case few && g.family == form.LayoutFamily && g.oneLayout():
		variants = append(variants, variant{absent: []string{"launch", "gradient", "optimizer", "constant"}, odds: 1})
	case few && g.family == form.CollectiveFamily:
		variants = append(variants,
			variant{absent: []string{"fixed_share"}, odds: 1. / 3}, variant{absent: []string{"intra"}, odds: 1. / 3},
			variant{absent: []string{"fixed_share", "intra"}, odds: 1. / 3})
		if g.numbersOfWorkers() >= 3 { // with two, it looks like communication
			variants = append(variants, variant{shared: form.ByNode, odds: 2 * g.prior.Shared}, variant{shared: form.ByAll, odds: g.prior.Shared})
		}
	}
	var out []member
	for i, a := range g.assumptions() {
		for j, v := range variants {
			if i == 0 && j == 0 {
				continue
			}
			a.Shared = v.shared
			m, err := g.like(a, v.absent)
			if err != nil {
				return nil, err
			}
			out = append(out, member{m, v.odds})
		}
	}
	return out, nil
}

// oneLayout reports whether only the number of workers and batches differ.
func (g *group) oneLayout() bool {
	return !slices.ContainsFunc(g.rows, func(r row) bool { return r.Layout != g.rows[0].Layout })
}

func (g *group) numbersOfWorkers() int {
	of := map[float64]bool{}
	for i := range g.pts {
		of[g.pts[i].Workers] = true
	}
	return len(of)
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

// unknowns warns of measurements without batches and nodes.
func (g *group) unknowns(where string) (w []string) {
	if g.without > 0 {
		fixed := g.share(func(a assumption) bool { return a.Fixed })
		w = append(w, fmt.Sprintf("%s%d of %d measurements have no batch, so it is inferred from the step times which one stayed the same: the global batch with a probability of %.0f %%, else the local one; add a column local_batch or global_batch",
			where, g.without, len(g.rows), 100*fixed))
	}
	if g.family == form.CollectiveFamily && g.nowhere() {
		w = append(w, fmt.Sprintf("%sno measurement has nodes: beyond %d GPUs links may be slower; add a column nodes", where, gpusPerNode))
	}
	return w
}
