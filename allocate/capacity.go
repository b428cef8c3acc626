package allocate

import (
	"math"

	"knee/data"
)

// Slack is the relative rounding error allowed when sums of demands are
// compared with a capacity. Demands are counts, cores and bytes: anything
// this small is floating point, not a resource.
const Slack = 1e-9

// Capacity is the cluster as a vector of limits: per GPU type the worker
// slots, and the cores and bytes that its workers may take; over all nodes
// the cores and bytes that workers and parameter servers take together.
// Resources that do not limit anything have no dimension.
//
// It is a relaxation: it forgets node boundaries, which placement restores.
// An upper bound computed with it therefore holds for placed plans too.
type Capacity struct {
	Limit          []float64 // by dimension
	names          []string
	byType         map[string]TypeDims
	allCPU, allMem int // dimension, −1 if not limiting
}

// MaxDims is how many dimensions an option can use at most: those of
// [Capacity.Positions], and the quotas of a tenant and those above it.
const MaxDims = 8

// TypeDims are the dimensions of a GPU type, −1 if not limiting.
type TypeDims struct{ GPU, cpu, mem int }

// NewCapacity adds up the nodes that may be used.
func NewCapacity(cluster *data.Cluster) *Capacity {
	c := &Capacity{byType: map[string]TypeDims{}, allCPU: -1, allMem: -1}
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
		cpus, mem := Unlimited(n.CPUs), Unlimited(float64(n.Memory))
		by[t].gpus += float64(n.GPUs)
		by[t].cpus += cpus
		by[t].mem += mem
		all.cpus += cpus
		all.mem += mem
	}
	c.allCPU = c.dim("cores", all.cpus)
	c.allMem = c.dim("bytes of memory", all.mem)
	for i, t := range types {
		c.byType[t] = TypeDims{
			GPU: c.dim("GPUs of type "+t, by[i].gpus),
			cpu: c.dim("cores beside GPUs of type "+t, by[i].cpus),
			mem: c.dim("bytes of memory beside GPUs of type "+t, by[i].mem),
		}
	}
	return c
}

// Dims returns the dimensions of a GPU type; one that no node offers gets a
// limit of zero as soon as an option asks for it.
func (c *Capacity) Dims(gpuType string) TypeDims {
	t, ok := c.byType[gpuType]
	if !ok {
		t = TypeDims{GPU: c.dim("GPUs of type "+gpuType, 0), cpu: -1, mem: -1}
		c.byType[gpuType] = t
	}
	return t
}

func (c *Capacity) dim(name string, limit float64) int {
	if math.IsInf(limit, 1) {
		return -1
	}
	c.names = append(c.names, name)
	c.Limit = append(c.Limit, limit)
	return len(c.Limit) - 1
}

// Add adds sign times the demand u to the vector v.
func (c *Capacity) Add(v []float64, u Use, sign float64) {
	put := func(d int, x float64) {
		if d >= 0 {
			v[d] += sign * x
		}
	}
	if t, ok := c.byType[u.GPUType]; ok {
		put(t.GPU, float64(u.GPUs))
		put(t.cpu, u.CPUs)
		put(t.mem, float64(u.Memory))
	}
	put(c.allCPU, u.CPUs+u.PSCPUs)
	put(c.allMem, float64(u.Memory)+float64(u.PSMemory))
}

// Positions lists the dimensions that options of a GPU type use, its GPUs first.
func (c *Capacity) Positions(gpuType string) []int {
	var out []int
	t := c.Dims(gpuType)
	for _, d := range []int{t.GPU, t.cpu, t.mem, c.allCPU, c.allMem} {
		if d >= 0 {
			out = append(out, d)
		}
	}
	return out
}

// Shares writes the demand u to v as shares of the limits, one for each
// dimension of Positions of its type, t, and returns the largest. What the cluster has none of
// is an infinite share.
func (c *Capacity) Shares(v *[MaxDims]float64, t TypeDims, u *Use) float64 {
	n := 0
	if t.GPU >= 0 {
		v[n] = part(float64(u.GPUs), c.Limit[t.GPU])
		n++
	}
	if t.cpu >= 0 {
		v[n] = part(u.CPUs, c.Limit[t.cpu])
		n++
	}
	if t.mem >= 0 {
		v[n] = part(float64(u.Memory), c.Limit[t.mem])
		n++
	}
	if c.allCPU >= 0 {
		v[n] = part(u.CPUs+u.PSCPUs, c.Limit[c.allCPU])
		n++
	}
	if c.allMem >= 0 {
		v[n] = part(float64(u.Memory)+float64(u.PSMemory), c.Limit[c.allMem])
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

// Unlimited turns the "0 means not limiting" of [data.Node] into arithmetic.
func Unlimited(x float64) float64 {
	if x <= 0 {
		return math.Inf(1)
	}
	return x
}
