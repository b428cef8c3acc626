package place

import (
	"cmp"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// Placer places jobs on nodes, one after another: best the largest first.
type Placer struct {
	nodes   []freeNode
	index   map[string]int // node name to position in nodes
	buckets map[bucketKey]*bucket
	free    map[string][][]*bucket // by GPU type, then by free worker slots: the buckets that have nodes
}

// New starts with an empty cluster. Drained nodes take no job.
func New(c *data.Cluster) *Placer {
	p := &Placer{nodes: make([]freeNode, len(c.Nodes)), index: make(map[string]int, len(c.Nodes)), buckets: map[bucketKey]*bucket{}, free: map[string][][]*bucket{}}
	for i, n := range c.Nodes {
		p.index[n.Name] = i
		p.nodes[i] = freeNode{name: n.Name, gpuType: n.GPUType, gpus: n.GPUs, cpus: allocate.Unlimited(n.CPUs),
			memory: allocate.Unlimited(float64(n.Memory)), size: n.GPUs, drained: n.Drained}
		if n.Spanned {
			p.nodes[i].spread = 1
		}
	}
	for i := len(p.nodes) - 1; i >= 0; i-- { // each at the end of its bucket
		p.attach(i)
	}
	return p
}

// Request is one job to place.
type Request struct {
	Config    data.Config // GPUType, Workers and PS; Placement is the wanted shape
	Resources data.Resources
	Current   []data.NodeShare // where it runs, nil if nowhere or not known; these nodes are preferred
	Only      map[string]bool  // names of the nodes it may use; nil: all
	// Apart keeps a job of several nodes off nodes of another such job: no shared network
	// link.
	Apart     bool
	elsewhere bool // its parameter servers go to other nodes than its workers where those have room
}

// part is what a job gets on one node while it is being placed.
type part struct{ node, workers, ps int }

// Keep leaves jobs on the nodes of their workers; the result is parallel to rs, nil for a
// job that cannot stay. All workers are placed before the first parameter server, so that
// no server takes the cores of a worker, then the servers that are known to run somewhere,
// then those of jobs that have room for them beside their workers, so that no other takes that.
func (p *Placer) Keep(rs []Request) [][]data.NodeShare {
	parts := make([][]part, len(rs))
	for n, r := range rs {
		if parts[n] = p.present(r); parts[n] != nil {
			p.bookAll(parts[n], r.Resources, 1)
		}
	}
	out := make([][]data.NodeShare, len(rs))
	known := func(n int) bool {
		return slices.ContainsFunc(rs[n].Current, func(s data.NodeShare) bool { return s.PS > 0 })
	}
	beside := func(n int) bool { return p.beside(rs[n], parts[n]) }
	for _, first := range []func(n int) bool{known, beside, func(int) bool { return true }} {
		for n, r := range rs {
			if parts[n] != nil && first(n) {
				p.bookAll(parts[n], r.Resources, -1)
				out[n], _ = p.commit(r, p.hold(parts[n]))
				parts[n] = nil
			}
		}
	}
	return out
}

// beside reports whether the nodes of a job's workers, which are booked, have room for its servers.
func (p *Placer) beside(r Request, parts []part) bool {
	left := r.Config.PS
	for _, s := range parts {
		for ps := 1; left > 0 && p.nodes[s.node].room(0, ps, r.Resources); ps++ {
			left--
		}
	}
	return left == 0
}

// present is the workers of a job on their nodes, nil if they cannot stay.
func (p *Placer) present(r Request) (parts []part) {
	sum := 0
	for _, s := range r.Current {
		if s.Workers == 0 {
			continue
		}
		i := p.find(s.Node)
		if i < 0 || slices.ContainsFunc(parts, func(x part) bool { return x.node == i }) || p.slots(i, r) < s.Workers {
			return nil
		}
		parts = append(parts, part{node: i, workers: s.Workers})
		sum += s.Workers
	}
	if sum == 0 || sum != r.Config.Workers {
		return nil
	}
	return parts
}

// hold takes the nodes of parts out of their buckets.
func (p *Placer) hold(parts []part) []part {
	for _, s := range parts {
		p.detach(s.node)
	}
	return parts
}

func (p *Placer) unhold(parts []part) {
	for _, s := range parts {
		p.attach(s.node)
	}
}

// Place finds nodes for a job: the shape it wants if that is free, else an uneven one on
// as few nodes as possible. Nodes the job runs on come first, then those with the fewest
// free slots, so that empty nodes stay empty. Parameter servers go in equal parts to the
// nodes of the workers, then to any node with free cores and memory. If the job does not
// fit it takes nothing.
func (p *Placer) Place(r Request) ([]data.NodeShare, bool) {
	if r.Config.Workers < 1 {
		return nil, false
	}
	if shares, ok := p.placeShape(r); ok {
		return shares, true
	}
	return p.commit(r, p.loose(r))
}

// placeShape is Place without uneven shapes.
func (p *Placer) placeShape(r Request) ([]data.NodeShare, bool) {
	return p.commit(r, p.exact(r))
}

// commit adds the parameter servers to the workers on held nodes, books both and puts the
// nodes back. It reports false if there are no workers or the servers do not fit.
func (p *Placer) commit(r Request, parts []part) ([]data.NodeShare, bool) {
	if parts == nil {
		return nil, false
	}
	parts, ok := p.servers(r, parts)
	p.unhold(parts)
	if !ok {
		return nil, false
	}
	p.bookAll(parts, r.Resources, 1)
	// Nodes of more workers first, as placements are written.
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(b.workers-a.workers, a.node-b.node) })
	shares := make([]data.NodeShare, len(parts))
	for n, s := range parts {
		shares[n] = data.NodeShare{Node: p.nodes[s.node].name, Workers: s.workers, PS: s.ps}
	}
	return shares, true
}

// exact finds and holds a node for every count of the wanted shape, largest first: one
// the job runs on, else the tightest; nil if one is missing.
func (p *Placer) exact(r Request) []part {
	shape := r.Config.Placement
	if len(shape) == 0 {
		return nil
	}
	r.Apart = r.Apart && len(shape) > 1
	if !slices.IsSortedFunc(shape, func(a, b int) int { return b - a }) {
		shape = Sorted(shape)
	}
	parts := make([]part, 0, len(shape)+r.Config.PS/8)
	for _, w := range shape {
		i := p.here(r, w)
		if i < 0 {
			i = p.tightest(r.Config.GPUType, r, w, 0)
		}
		if i < 0 {
			p.unhold(parts)
			return nil
		}
		p.detach(i)
		parts = append(parts, part{node: i, workers: w})
	}
	return parts
}

// here is the tightest of the job's present nodes with room for w workers, else −1.
func (p *Placer) here(r Request, w int) int {
	best, least := -1, 0
	for _, s := range r.Current {
		i := p.find(s.Node)
		if i < 0 || p.nodes[i].bucket == nil || r.Apart && p.nodes[i].spread > 0 {
			continue
		}
		if room := p.slots(i, r); room >= w && (best < 0 || room < least) {
			best, least = i, room
		}
	}
	return best
}

// tightest is the first of the nodes of a GPU type with fewest free slots that a job may use
// and that have room for so many workers and servers; else −1.
func (p *Placer) tightest(gpuType string, r Request, workers, ps int) int {
	rows := p.free[gpuType]
	for g := workers; g < len(rows); g++ {
		best := -1
		for _, b := range rows[g] {
			i := p.first(b, r)
			if i >= 0 && (best < 0 || i < best) && p.nodes[i].room(workers, ps, r.Resources) {
				best = i
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

// loose places the workers on as few nodes as possible, those with most room, and holds
// them; nil if they do not fit.
func (p *Placer) loose(r Request) []part {
	type level struct {
		b    *bucket
		room int
	}
	var levels []level
	for _, row := range p.free[r.Config.GPUType] {
		for _, b := range row {
			if i := p.first(b, r); i >= 0 && p.slots(i, r) > 0 {
				levels = append(levels, level{b, p.slots(i, r)})
			}
		}
	}
	slices.SortStableFunc(levels, func(a, b level) int { return b.room - a.room })
	var parts []part
	var room []int
	left := r.Config.Workers
	take := func(i, n int) {
		p.detach(i)
		parts, room = append(parts, part{node: i}), append(room, n)
		left -= n
	}
	for at := 0; at < len(levels) && left > 0; at++ {
		l := levels[at]
		if at == 0 || levels[at-1].room != l.room { // of equal nodes its present ones come first
			for _, s := range r.Current {
				if i := p.find(s.Node); left > 0 && i >= 0 && p.nodes[i].bucket != nil && p.slots(i, r) == l.room && !(r.Apart && p.nodes[i].spread > 0) {
					take(i, l.room)
				}
			}
		}
		for i := p.first(l.b, r); left > 0 && i >= 0; i = p.first(l.b, r) {
			take(i, l.room)
		}
	}
	if left > 0 {
		p.unhold(parts)
		return nil
	}
	for n, w := range spreadOver(r.Config.Workers, room) {
		parts[n].workers = w
	}
	return parts
}

func (p *Placer) slots(i int, r Request) int {
	n := &p.nodes[i]
	if n.drained || n.gpuType != r.Config.GPUType || !r.may(n) {
		return 0
	}
	return slotsFor(n.gpus, n.cpus, n.memory, r.Resources.Worker)
}

// Take books the nodes of a job, by name.
func (p *Placer) Take(shares []data.NodeShare, r data.Resources) {
	p.bookAll(p.partsOf(shares), r, 1)
}

// Release frees the nodes of a job.
func (p *Placer) Release(shares []data.NodeShare, r data.Resources) {
	p.bookAll(p.partsOf(shares), r, -1)
}

func (p *Placer) partsOf(shares []data.NodeShare) []part {
	parts := make([]part, 0, len(shares))
	for _, s := range shares {
		if i := p.find(s.Node); i >= 0 {
			parts = append(parts, part{i, s.Workers, s.PS})
		}
	}
	return parts
}

// bookAll takes (sign 1) or frees (sign −1) the parts.
func (p *Placer) bookAll(parts []part, r data.Resources, sign int) {
	for _, s := range parts {
		n := &p.nodes[s.node]
		w, ps := float64(sign*s.workers), float64(sign*s.ps)
		p.detach(s.node)
		n.gpus -= sign * s.workers
		n.cpus -= w*r.Worker.CPUs + ps*r.PS.CPUs
		n.memory -= w*float64(r.Worker.Memory) + ps*float64(r.PS.Memory)
		if len(parts) > 1 {
			n.spread += sign
		}
		p.attach(s.node)
	}
}

func (p *Placer) find(name string) int {
	if i, ok := p.index[name]; ok {
		return i
	}
	return -1
}

// Free is the worker slots free by GPU type.
func (p *Placer) Free() map[string]int {
	out := make(map[string]int, len(p.free))
	for t, rows := range p.free {
		for g, row := range rows {
			for _, b := range row {
				out[t] += g * len(b.nodes)
			}
		}
	}
	return out
}

// Fragmentation is the share of the free worker slots on partly used nodes, where jobs of
// whole nodes cannot run.
func (p *Placer) Fragmentation() float64 {
	var free, broken float64
	for _, n := range p.nodes {
		if n.drained {
			continue
		}
		free += float64(n.gpus)
		if n.gpus < n.size {
			broken += float64(n.gpus)
		}
	}
	return broken / math.Max(free, 1)
}
