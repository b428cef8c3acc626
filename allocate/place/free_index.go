package place

import (
	"math"

	"knee/allocate"
	"knee/data"
	"knee/internal/heap"
)

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
	spread  int     // jobs on it that stand on other nodes too
	bucket  *bucket // where it is kept; nil while drained or being placed on
}

// room reports whether workers and servers fit what is free.
func (n *freeNode) room(workers, ps int, r data.Resources) bool {
	cpus := float64(workers)*r.Worker.CPUs + float64(ps)*r.PS.CPUs
	memory := float64(workers)*float64(r.Worker.Memory) + float64(ps)*float64(r.PS.Memory)
	return !n.drained && workers <= n.gpus && cpus <= n.cpus+allocate.Slack && memory <= n.memory
}

// freeIndex keeps the nodes of one GPU type by the worker slots free on them,
// and nodes with the same of everything free together in buckets. Clusters have
// many nodes and few kinds of them, so that a search looks at kinds: with
// 16,000 nodes it is this that makes placement a matter of microseconds.
type freeIndex struct {
	rows [][]*bucket // by free slots
}

// bucket is a set of nodes on which the same is free, lowest index first.
type bucket struct {
	key   bucketKey
	live  int
	nodes heap.Heap[int32] // entries of nodes that have left are dropped when they come up
}

// bucketKey is what is free. Cores are counted in millionths, so that rounding
// errors of sums do not make kinds of their own; whether something fits is
// asked of the node itself.
type bucketKey struct {
	gpuType string
	gpus    int
	cpus    int64
	memory  int64
	spread  bool
}

func (n *freeNode) key() bucketKey {
	whole := func(x, unit float64) int64 {
		if math.IsInf(x, 1) {
			return math.MaxInt64
		}
		return int64(math.Round(x * unit))
	}
	return bucketKey{n.gpuType, n.gpus, whole(n.cpus, 1e6), whole(n.memory, 1), n.spread > 0}
}

// attach puts node i where nodes like it are kept.
func (p *Placer) attach(i int) {
	n := &p.nodes[i]
	if n.drained {
		return
	}
	key := n.key()
	b := p.buckets[key]
	if b == nil {
		b = &bucket{key: key, nodes: heap.Heap[int32]{Less: func(a, b int32) bool { return a < b }}}
		p.buckets[key] = b
	}
	if b.live == 0 { // an empty bucket is in no index
		s := p.indexOf(n.gpuType)
		for len(s.rows) <= n.gpus {
			s.rows = append(s.rows, nil)
		}
		b.nodes.Items = b.nodes.Items[:0]
		s.rows[n.gpus] = append(s.rows[n.gpus], b)
	}
	b.nodes.Push(int32(i))
	b.live++
	n.bucket = b
}

// detach takes node i out of its bucket while a job is being placed on it.
func (p *Placer) detach(i int) {
	n := &p.nodes[i]
	if n.bucket == nil {
		return
	}
	n.bucket.live--
	if n.bucket.live == 0 {
		s := p.indexOf(n.gpuType)
		row := s.rows[n.gpus]
		for at, b := range row {
			if b == n.bucket {
				s.rows[n.gpus] = append(row[:at], row[at+1:]...)
				break
			}
		}
	}
	n.bucket = nil
}

func (p *Placer) indexOf(gpuType string) *freeIndex {
	for at, t := range p.types {
		if t == gpuType {
			return p.indexes[at]
		}
	}
	s := &freeIndex{}
	p.types, p.indexes = append(p.types, gpuType), append(p.indexes, s)
	return s
}

// first returns the node of lowest index in a bucket that is not empty.
func (p *Placer) first(b *bucket) int {
	for {
		i := int(b.nodes.Items[0])
		if p.nodes[i].bucket == b {
			return i
		}
		b.nodes.Pop()
	}
}
