package allocate

import (
	"math"
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
	gpu, cpu, mem  map[string]int // dimension by GPU type
	allCPU, allMem int            // dimension, −1 if not limiting
}

// newCapacity adds up the nodes that may be used. A GPU type that no node
// offers gets a limit of zero as soon as an option asks for it.
func newCapacity(s State) *capacity {
	c := &capacity{gpu: map[string]int{}, cpu: map[string]int{}, mem: map[string]int{}, allCPU: -1, allMem: -1}
	gpus, cpus, mem := map[string]float64{}, map[string]float64{}, map[string]float64{}
	var allCPU, allMem float64
	for _, n := range s.Cluster.Nodes {
		if n.Drained {
			continue
		}
		gpus[n.GPUType] += float64(n.GPUs)
		cpus[n.GPUType] += orInf(n.CPUs)
		mem[n.GPUType] += orInf(float64(n.Memory))
		allCPU += orInf(n.CPUs)
		allMem += orInf(float64(n.Memory))
	}
	for _, t := range demandedTypes(s) {
		c.gpu[t] = c.dim("GPUs of type "+t, gpus[t])
		c.cpu[t] = c.dim("cores beside GPUs of type "+t, cpus[t])
		c.mem[t] = c.dim("bytes of memory beside GPUs of type "+t, mem[t])
	}
	c.allCPU = c.dim("cores", allCPU)
	c.allMem = c.dim("bytes of memory", allMem)
	return c
}

// demandedTypes lists the GPU types of the cluster, then those that only
// options name, in order of appearance.
func demandedTypes(s State) []string {
	types := s.Cluster.GPUTypes()
	seen := map[string]bool{}
	for _, t := range types {
		seen[t] = true
	}
	for _, j := range s.Jobs {
		for _, o := range j.Options {
			if !seen[o.Use.GPUType] {
				seen[o.Use.GPUType] = true
				types = append(types, o.Use.GPUType)
			}
		}
	}
	return types
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
	at := func(m map[string]int) int {
		if d, ok := m[u.GPUType]; ok {
			return d
		}
		return -1
	}
	put(at(c.gpu), float64(u.GPUs))
	put(at(c.cpu), u.CPUs)
	put(at(c.mem), float64(u.Memory))
	put(c.allCPU, u.CPUs+u.PSCPUs)
	put(c.allMem, float64(u.Memory)+float64(u.PSMemory))
}

// dimsOf lists the dimensions that options of a GPU type use, in rising
// order.
func (c *capacity) dimsOf(gpuType string) []int {
	var out []int
	for _, d := range []int{c.gpu[gpuType], c.cpu[gpuType], c.mem[gpuType], c.allCPU, c.allMem} {
		if d >= 0 {
			out = append(out, d)
		}
	}
	return out
}

// shares appends the demand u to v as shares of the limits, one for each
// dimension of dimsOf; what the cluster has none of is an infinite share.
func (c *capacity) shares(v []float64, u *Use) []float64 {
	put := func(d int, x float64) {
		switch {
		case d < 0:
		case x <= 0:
			v = append(v, 0)
		default:
			v = append(v, x/c.limit[d])
		}
	}
	put(c.gpu[u.GPUType], float64(u.GPUs))
	put(c.cpu[u.GPUType], u.CPUs)
	put(c.mem[u.GPUType], float64(u.Memory))
	put(c.allCPU, u.CPUs+u.PSCPUs)
	put(c.allMem, float64(u.Memory)+float64(u.PSMemory))
	return v
}

// orInf turns the "0 means not limiting" of [data.Node] into arithmetic.
func orInf(x float64) float64 {
	if x <= 0 {
		return math.Inf(1)
	}
	return x
}
