package allocate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"knee/data"
)

// Placer puts jobs on nodes, one after another, and keeps the books of what
// is free. Place the largest jobs first: small ones fit into what is left,
// the other way round does not work.
type Placer struct {
	nodes []freeNode
	index map[string]int // node name to position in nodes
}

// freeNode is a node and what is free on it. Unlimited cores and memory are
// +Inf.
type freeNode struct {
	name    string
	gpuType string
	gpus    int
	cpus    float64
	memory  float64
	size    int // worker slots when empty
	drained bool
}

// NewPlacer starts with an empty cluster. Drained nodes take nothing: a job
// that stands on one is placed elsewhere.
func NewPlacer(c *data.Cluster) *Placer {
	p := &Placer{nodes: make([]freeNode, len(c.Nodes)), index: map[string]int{}}
	for i, n := range c.Nodes {
		p.index[n.Name] = i
		p.nodes[i] = freeNode{name: n.Name, gpuType: n.GPUType, gpus: n.GPUs, cpus: orInf(n.CPUs),
			memory: orInf(float64(n.Memory)), size: n.GPUs, drained: n.Drained}
	}
	return p
}

// Request is one job to place.
type Request struct {
	Config    data.Config // GPUType, Workers and PS; Placement is the wanted shape
	Resources data.Resources
	Current   []data.NodeShare // where it stands now; these nodes are preferred
}

// Keep leaves jobs on the nodes their workers stand on. All workers are
// booked before the first parameter server is placed, so that no server
// takes the room of a worker that was there. The answer is parallel to rs,
// nil for a job that cannot stay; such a job takes nothing.
func (p *Placer) Keep(rs []Request) [][]data.NodeShare {
	counts := make([]map[int]int, len(rs))
	for n, r := range rs {
		if counts[n] = p.present(r); counts[n] != nil {
			p.take(p.workersOf(counts[n]), r.Resources)
		}
	}
	out := make([][]data.NodeShare, len(rs))
	for n, r := range rs {
		if counts[n] == nil {
			continue
		}
		p.Release(p.workersOf(counts[n]), r.Resources)
		if shares, ok := p.commit(r, counts[n]); ok {
			out[n] = shares
		}
	}
	return out
}

// present is the workers of a job by node index, nil if they cannot stay.
func (p *Placer) present(r Request) map[int]int {
	counts, total := map[int]int{}, 0
	for _, s := range r.Current {
		if s.Workers == 0 {
			continue
		}
		i := p.find(s.Node)
		if i < 0 || counts[i] > 0 || p.slots(i, r) < s.Workers {
			return nil
		}
		counts[i] = s.Workers
		total += s.Workers
	}
	if total == 0 || total != r.Config.Workers {
		return nil
	}
	return counts
}

func (p *Placer) workersOf(counts map[int]int) []data.NodeShare {
	var shares []data.NodeShare
	for _, i := range sortedKeys(counts) {
		shares = append(shares, data.NodeShare{Node: p.nodes[i].name, Workers: counts[i]})
	}
	return shares
}

// sortedKeys lists the node indices of several counts, in order.
func sortedKeys(counts ...map[int]int) []int {
	var out []int
	for _, c := range counts {
		out = slices.AppendSeq(out, maps.Keys(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Place finds nodes for a job: the shape it wants if there is one, else an
// uneven one on as few nodes as possible. Nodes the job stands on now come
// first, then those it fills best, so that large holes stay whole. Parameter
// servers go in equal parts to the nodes of the workers, then to any node
// with cores and memory to spare. It reports false, and takes nothing, if
// the job does not fit.
func (p *Placer) Place(r Request) ([]data.NodeShare, bool) {
	if r.Config.Workers < 1 {
		return nil, false
	}
	counts := p.exact(r)
	if counts == nil {
		counts = p.loose(r)
	}
	if counts == nil {
		return nil, false
	}
	return p.commit(r, counts)
}

// PlaceShape is Place without the uneven way out: it reports false if the
// wanted shape is not to be had.
func (p *Placer) PlaceShape(r Request) ([]data.NodeShare, bool) {
	counts := p.exact(r)
	if counts == nil {
		return nil, false
	}
	return p.commit(r, counts)
}

// commit adds the parameter servers to the worker counts, by node index,
// and takes it all.
func (p *Placer) commit(r Request, counts map[int]int) ([]data.NodeShare, bool) {
	servers, ok := p.servers(r, counts)
	if !ok {
		return nil, false
	}
	var shares []data.NodeShare
	for _, i := range sortedKeys(counts, servers) {
		if counts[i] > 0 || servers[i] > 0 {
			shares = append(shares, data.NodeShare{Node: p.nodes[i].name, Workers: counts[i], PS: servers[i]})
		}
	}
	// Nodes of more workers first, as placements are written.
	slices.SortStableFunc(shares, func(a, b data.NodeShare) int { return cmp.Compare(b.Workers, a.Workers) })
	p.take(shares, r.Resources)
	return shares, true
}

// exact finds a node for every count of the wanted shape, largest first:
// one the job stands on, else the one that is filled best.
func (p *Placer) exact(r Request) map[int]int {
	shape := sortedDesc(r.Config.Placement)
	if len(shape) == 0 {
		return nil
	}
	// The room of every node is looked up once: with thousands of nodes this
	// scan is what placement costs.
	room, here := make([]int, len(p.nodes)), make([]bool, len(p.nodes))
	for i := range p.nodes {
		room[i] = p.slots(i, r)
	}
	for _, s := range r.Current {
		if i := p.find(s.Node); i >= 0 {
			here[i] = true
		}
	}
	counts := map[int]int{}
	for _, w := range shape {
		best := -1
		for i, s := range room {
			if s < w || best >= 0 && (here[best] && !here[i] || here[best] == here[i] && room[best] <= s) {
				continue
			}
			best = i
		}
		if best < 0 {
			return nil
		}
		counts[best], room[best] = w, -1
	}
	return counts
}

// loose spreads the workers over the freest nodes, as few as can hold them.
func (p *Placer) loose(r Request) map[int]int {
	order := make([]int, 0, len(p.nodes))
	for i := range p.nodes {
		if p.slots(i, r) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := p.slots(b, r) - p.slots(a, r); d != 0 {
			return d
		}
		return boolOrder(r.stands(p.nodes[a].name), r.stands(p.nodes[b].name))
	})
	var room []int
	left := r.Config.Workers
	for _, i := range order {
		s := p.slots(i, r)
		room = append(room, s)
		if left -= s; left <= 0 {
			break
		}
	}
	if left > 0 {
		return nil
	}
	counts := map[int]int{}
	for n, w := range spread(r.Config.Workers, room) {
		counts[order[n]] = w
	}
	return counts
}

// servers spreads the parameter servers: those that stand somewhere stay if
// their number is right, others go one at a time to the node with the fewest
// of them among the workers' nodes, and elsewhere when those are full.
func (p *Placer) servers(r Request, workers map[int]int) (map[int]int, bool) {
	out := p.standing(r, workers)
	for range r.Config.PS - total(out) {
		best := -1
		for i := range p.nodes {
			if p.nodes[i].drained || !p.nodes[i].room(workers[i], out[i]+1, r.Resources) {
				continue
			}
			if best < 0 || betterServer(workers, out, i, best) {
				best = i
			}
		}
		if best < 0 {
			return nil, false
		}
		out[best]++
	}
	return out, true
}

// standing is the parameter servers that can stay where they are, none
// unless all can.
func (p *Placer) standing(r Request, workers map[int]int) map[int]int {
	out := map[int]int{}
	for _, s := range r.Current {
		if s.PS == 0 {
			continue
		}
		i := p.find(s.Node)
		if i < 0 || !p.nodes[i].room(workers[i], s.PS, r.Resources) {
			return map[int]int{}
		}
		out[i] += s.PS
	}
	if total(out) != r.Config.PS {
		return map[int]int{}
	}
	return out
}

func total(counts map[int]int) int {
	var n int
	for _, c := range counts {
		n += c
	}
	return n
}

func betterServer(workers, servers map[int]int, a, b int) bool {
	if x, y := workers[a] > 0, workers[b] > 0; x != y {
		return x
	}
	return servers[a] < servers[b]
}

// slots is how many workers of r node i has room for.
func (p *Placer) slots(i int, r Request) int {
	n := &p.nodes[i]
	if n.drained || n.gpuType != r.Config.GPUType {
		return 0
	}
	return slots(n.gpus, n.cpus, n.memory, r.Resources.Worker)
}

// room reports whether workers and servers fit what is free.
func (n *freeNode) room(workers, ps int, r data.Resources) bool {
	cpus := float64(workers)*r.Worker.CPUs + float64(ps)*r.PS.CPUs
	memory := float64(workers)*float64(r.Worker.Memory) + float64(ps)*float64(r.PS.Memory)
	return !n.drained && workers <= n.gpus && cpus <= n.cpus+slack && memory <= n.memory
}

func (p *Placer) take(shares []data.NodeShare, r data.Resources) { p.book(shares, r, 1) }

// Release gives back what a job was given.
func (p *Placer) Release(shares []data.NodeShare, r data.Resources) { p.book(shares, r, -1) }

func (p *Placer) book(shares []data.NodeShare, r data.Resources, sign float64) {
	for _, s := range shares {
		i := p.find(s.Node)
		if i < 0 {
			continue
		}
		n := &p.nodes[i]
		w, ps := float64(s.Workers), float64(s.PS)
		n.gpus -= int(sign) * s.Workers
		n.cpus -= sign * (w*r.Worker.CPUs + ps*r.PS.CPUs)
		n.memory -= sign * (w*float64(r.Worker.Memory) + ps*float64(r.PS.Memory))
	}
}

func (p *Placer) find(name string) int {
	if i, ok := p.index[name]; ok {
		return i
	}
	return -1
}

// stands reports whether the job has workers on the node now.
func (r Request) stands(node string) bool {
	return slices.ContainsFunc(r.Current, func(s data.NodeShare) bool { return s.Node == node })
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Fragmentation is the part of the free worker slots, 0 to 1, that lies on
// nodes which are partly used: slots a whole-node job cannot have.
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

// ShapeOf returns the workers per node of a placement, most first, without
// the nodes that hold only parameter servers.
func ShapeOf(shares []data.NodeShare) data.Placement {
	var p data.Placement
	for _, s := range shares {
		if s.Workers > 0 {
			p = append(p, s.Workers)
		}
	}
	return sortedDesc(p)
}
