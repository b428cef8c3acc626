package place

import (
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// freeNode is a node and what is free on it; unlimited cores and memory are +Inf.
type freeNode struct {
	name    string
	gpuType string
	gpus    int
	cpus    float64
	memory  float64
	size    int // worker slots when empty
	drained bool
	spread  int     // jobs on it that also use other nodes
	bucket  *bucket // nil if it is drained or held for a job
}

func (n *freeNode) room(workers, ps int, r data.Resources) bool {
	cpus := float64(workers)*r.Worker.CPUs + float64(ps)*r.PS.CPUs
	memory := float64(workers)*float64(r.Worker.Memory) + float64(ps)*float64(r.PS.Memory)
	return !n.drained && workers <= n.gpus && cpus <= n.cpus+allocate.Slack && memory <= n.memory
}

// bucket is a set of nodes with the same free resources, in falling order: nodes of low index
// are taken first, from the end. Clusters have many nodes and few different buckets: with
// 16,000 nodes placement takes microseconds.
type bucket struct {
	key   bucketKey
	nodes []int32
}

// may reports whether a job may use a node.
func (r *Request) may(n *freeNode) bool { return r.Only == nil || r.Only[n.name] }

// first returns the node of lowest index in a bucket that a job may use, −1 for none.
func (p *Placer) first(b *bucket, r Request) int {
	if r.Apart && b.key.spread {
		return -1
	}
	for n := len(b.nodes) - 1; n >= 0; n-- {
		if i := int(b.nodes[n]); r.may(&p.nodes[i]) {
			return i
		}
	}
	return -1
}

// find returns where node i is or belongs.
func (b *bucket) find(i int) int {
	at, _ := slices.BinarySearchFunc(b.nodes, int32(i), func(a, i int32) int { return int(i - a) })
	return at
}

// bucketKey is the free resources of a node, cores in millionths, so that rounding errors
// make no further buckets.
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

func (p *Placer) attach(i int) {
	n := &p.nodes[i]
	if n.drained {
		return
	}
	key := n.key()
	b := p.buckets[key]
	if b == nil {
		b = &bucket{key: key}
		p.buckets[key] = b
	}
	if len(b.nodes) == 0 {
		rows := p.free[n.gpuType]
		for len(rows) <= n.gpus {
			rows = append(rows, nil)
		}
		rows[n.gpus] = append(rows[n.gpus], b)
		p.free[n.gpuType] = rows
	}
	b.nodes = slices.Insert(b.nodes, b.find(i), int32(i))
	n.bucket = b
}

func (p *Placer) detach(i int) {
	n := &p.nodes[i]
	b := n.bucket
	if b == nil {
		return
	}
	n.bucket = nil
	at := b.find(i)
	if b.nodes = slices.Delete(b.nodes, at, at+1); len(b.nodes) == 0 {
		rows := p.free[n.gpuType]
		rows[n.gpus] = slices.DeleteFunc(rows[n.gpus], func(x *bucket) bool { return x == b })
	}
}
