package place

import (
	"cmp"
	"slices"

	"knee/data"
	"knee/internal/list"
)

// servers places the parameter servers of a job: where they run, if their number is
// unchanged and all can stay; else one at a time on the node of its workers with the
// fewest servers, or on others if those are full; in the other order if r.elsewhere. The
// result, also of a failure, has one part per node, all held.
func (p *Placer) servers(r Request, parts []part) ([]part, bool) {
	left := r.Config.PS
	if left == 0 {
		return parts, true
	}
	if all, ok := p.serversStay(r, parts); ok {
		return all, true
	}
	for ; left > 0 && !r.elsewhere; left-- {
		i := p.fewest(r, parts)
		if i < 0 {
			break
		}
		parts[i].ps++
	}
	spread := func(x part) bool { return p.nodes[x.node].spread > 0 }
	if left > 0 && r.Apart && slices.ContainsFunc(parts, spread) { // with servers elsewhere it would span nodes
		return parts, false
	}
	beside := len(parts)
	for ; left > 0; left-- {
		if i := p.elsewhere(r); i >= 0 {
			p.detach(i)
			parts = append(parts, part{node: i, ps: 1})
			continue
		}
		others := parts[beside:]
		i := p.fewest(r, others)
		if i < 0 && r.elsewhere {
			others = parts[:beside]
			i = p.fewest(r, others)
		}
		if i < 0 {
			return parts, false
		}
		others[i].ps++
	}
	return parts, true
}

// serversStay leaves the servers where they are, false if one cannot stay or their number
// changes.
func (p *Placer) serversStay(r Request, parts []part) ([]part, bool) {
	if list.Sum(r.Current, func(s data.NodeShare) int { return s.PS }) != r.Config.PS {
		return parts, false
	}
	all := slices.Clone(parts)
	for _, s := range r.Current {
		i := p.find(s.Node)
		if s.PS == 0 {
			continue
		}
		at := slices.IndexFunc(all, func(x part) bool { return x.node == i })
		if at < 0 {
			at, all = len(all), append(all, part{node: i})
		}
		if all[at].ps += s.PS; i < 0 || !r.may(&p.nodes[i]) || !p.nodes[i].room(all[at].workers, all[at].ps, r.Resources) {
			return parts, false
		}
	}
	p.hold(all[len(parts):])
	return all, true
}

// fewest is the part with the fewest servers and room for one more, of equal ones that of the
// lowest node, else −1.
func (p *Placer) fewest(r Request, parts []part) int {
	best := -1
	for i, s := range parts {
		fewer := best < 0 || cmp.Or(s.ps-parts[best].ps, s.node-parts[best].node) < 0
		if fewer && p.nodes[s.node].room(s.workers, s.ps+1, r.Resources) {
			best = i
		}
	}
	return best
}

// elsewhere is a node with room for one server that is not held, else −1. Nodes with
// fewest free worker slots come first, where few workers could use the cores and memory.
func (p *Placer) elsewhere(r Request) int {
	best := -1
	for t := range p.free {
		i := p.tightest(t, r, 0, 1)
		if i >= 0 && (best < 0 || cmp.Or(p.nodes[i].gpus-p.nodes[best].gpus, i-best) < 0) {
			best = i
		}
	}
	return best
}
