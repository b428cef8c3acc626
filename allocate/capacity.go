package allocate

import (
	"math"

	"knee/data"
)

// slack is the relative rounding error allowed when sums of demands are
// compared with a capacity. Demands are counts, cores and bytes: anything
// this small is floating point, not a resource.
const slack = 1e-9

// capacity is the cluster as a vector of limits: per GPU type the worker
// slots, and the cores and bytes that its workers may take; over all nodes
// the cores and bytes that workers and parameter servers take together.
// Resources that do not limit anything have no dimension.
//
// It is a relaxation: it forgets node boundaries, which placement restores.
// An upper bound computed with it therefore holds for placed plans too.
type capacity struct {
	names          []string
	limit          []float64
	byType         map[string]typeDims
	allCPU, allMem int // dimension, −1 if not limiting
}

// typeDims are the dimensions of a GPU type, −1 if not limiting.
type typeDims struct{ gpu, cpu, mem int }

// newCapacity adds up the nodes that may be used.
func newCapacity(cluster *data.Cluster) *capacity {
	c := &capacity{byType: map[string]typeDims{}, allCPU: -1, allMem: -1}
	type sums struct{ gpus, cpus, mem float64 }
	var all sums
	var types []string
	at := map[string]int{}
	var by []sums
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		t, ok := at[n.GPUType]
		if !ok {
			t = len(by)
			at[n.GPUType], by, types = t, append(by, sums{}), append(types, n.GPUType)
		}
		if n.Drained {
			continue
		}
		cpus, mem := orInf(n.CPUs), orInf(float64(n.Memory))
		by[t].gpus += float64(n.GPUs)
		by[t].cpus += cpus
		by[t].mem += mem
		all.cpus += cpus
		all.mem += mem
	}
	c.allCPU = c.dim("cores", all.cpus)
	c.allMem = c.dim("bytes of memory", all.mem)
	for i, t := range types {
		c.byType[t] = typeDims{
			gpu: c.dim("GPUs of type "+t, by[i].gpus),
			cpu: c.dim("cores beside GPUs of type "+t, by[i].cpus),
			mem: c.dim("bytes of memory beside GPUs of type "+t, by[i].mem),
		}
	}
	return c
}

// meet returns the dimensions of a GPU type; one that no node offers gets a
// limit of zero as soon as an option asks for it.
func (c *capacity) meet(gpuType string) typeDims {
	t, ok := c.byType[gpuType]
	if !ok {
		t = typeDims{gpu: c.dim("GPUs of type "+gpuType, 0), cpu: -1, mem: -1}
		c.byType[gpuType] = t
	}
	return t
}

func (c *capacity) dim(name string, limit float64) int {
	if math.IsInf(limit, 1) {
		return -1
	}
	c.names = append(c.names, name)
	c.limit = append(c.limit, limit)
	return len(c.limit) - 1
}

// add adds sign times the demand u to the vector v.
func (c *capacity) add(v []float64, u Use, sign float64) {
	put := func(d int, x float64) {
		if d >= 0 {
			v[d] += sign * x
		}
	}
	if t, ok := c.byType[u.GPUType]; ok {
		put(t.gpu, float64(u.GPUs))
		put(t.cpu, u.CPUs)
		put(t.mem, float64(u.Memory))
	}
	put(c.allCPU, u.CPUs+u.PSCPUs)
	put(c.allMem, float64(u.Memory)+float64(u.PSMemory))
}

// dimsOf lists the dimensions that options of a GPU type use, its GPUs first.
func (c *capacity) dimsOf(gpuType string) []int {
	var out []int
	t := c.meet(gpuType)
	for _, d := range []int{t.gpu, t.cpu, t.mem, c.allCPU, c.allMem} {
		if d >= 0 {
			out = append(out, d)
		}
	}
	return out
}

// shares writes the demand u to v as shares of the limits, one for each
// dimension of dimsOf of its type, t, and returns the largest. What the cluster has none of
// is an infinite share.
func (c *capacity) shares(v *[useDims]float64, t typeDims, u *Use) float64 {
	n := 0
	if t.gpu >= 0 {
		v[n] = part(float64(u.GPUs), c.limit[t.gpu])
		n++
	}
	if t.cpu >= 0 {
		v[n] = part(u.CPUs, c.limit[t.cpu])
		n++
	}
	if t.mem >= 0 {
		v[n] = part(float64(u.Memory), c.limit[t.mem])
		n++
	}
	if c.allCPU >= 0 {
		v[n] = part(u.CPUs+u.PSCPUs, c.limit[c.allCPU])
		n++
	}
	if c.allMem >= 0 {
		v[n] = part(float64(u.Memory)+float64(u.PSMemory), c.limit[c.allMem])
		n++
	}
	return max(v[0], v[1], v[2], v[3], v[4])
}

// part is a demand as a share of a limit, which may be zero.
func part(x, limit float64) float64 {
	if x > 0 {
		return x / limit
	}
	return 0
}

// orInf turns the "0 means not limiting" of [data.Node] into arithmetic.
func orInf(x float64) float64 {
	if x <= 0 {
		return math.Inf(1)
	}
	return x
}
