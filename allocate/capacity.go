package allocate

import (
	"math"
	"slices"

	"knee/data"
)

// Slack is the relative rounding error allowed when sums of demands (counts, cores
// and bytes) are compared with a capacity.
const Slack = 1e-9

// Capacity is the cluster as a vector of limits: for each GPU type the worker
// slots, and the cores and bytes for their workers; over all nodes the cores and
// bytes for workers and parameter servers together. Unlimited resources have no
// dimension.
//
// It ignores node boundaries: an upper bound computed with it also holds for placed
// plans.
type Capacity struct {
	Limit          []float64 // by dimension
	names          []string
	types          []string // of GPUs
	dims           []Dims   // parallel to types
	allCPU, allMem int      // dimension, −1 if not limited
}

// MaxDims is the most dimensions that an option can use: those of
// [Capacity.Positions], and the quotas of its tenant and of the tenants above.
const MaxDims = 8

// Dims are the dimensions of a demand: GPUs of its type, cores and bytes on nodes
// of that type, cores and bytes of all nodes; −1 if not limited.
type Dims [5]int

// amounts are what a demand takes of its dimensions.
func (u *Use) amounts() [5]float64 {
	return [5]float64{float64(u.GPUs), u.CPUs, float64(u.Memory), u.CPUs + u.PSCPUs, float64(u.Memory) + float64(u.PSMemory)}
}

// NewCapacity adds up the nodes that are not drained.
func NewCapacity(cluster *data.Cluster) *Capacity {
	type sums struct{ gpus, cpus, mem float64 }
	c, all, by, at := &Capacity{}, sums{}, []sums{}, -1
	for i := range cluster.Nodes {
		n := &cluster.Nodes[i]
		if at < 0 || c.types[at] != n.GPUType {
			if at = slices.Index(c.types, n.GPUType); at < 0 {
				at = len(by)
				c.types, by = append(c.types, n.GPUType), append(by, sums{})
			}
		}
		if n.Drained {
			continue
		}
		of, cpus, mem := &by[at], Unlimited(n.CPUs), Unlimited(float64(n.Memory))
		of.gpus += float64(n.GPUs)
		of.cpus += cpus
		of.mem += mem
		all.cpus += cpus
		all.mem += mem
	}
	c.allCPU = c.dim("cores", all.cpus)
	c.allMem = c.dim("bytes of memory", all.mem)
	for i, t := range c.types {
		c.dims = append(c.dims, Dims{c.dim("GPUs of type "+t, by[i].gpus), c.dim("cores beside GPUs of type "+t, by[i].cpus),
			c.dim("bytes of memory beside GPUs of type "+t, by[i].mem), c.allCPU, c.allMem})
	}
	return c
}

// Dims returns the dimensions of a GPU type. A type that no node has is added, with
// a limit of zero.
func (c *Capacity) Dims(gpuType string) Dims {
	at := slices.Index(c.types, gpuType)
	if at < 0 {
		at = len(c.types)
		c.types, c.dims = append(c.types, gpuType), append(c.dims, Dims{c.dim("GPUs of type "+gpuType, 0), -1, -1, c.allCPU, c.allMem})
	}
	return c.dims[at]
}

func (c *Capacity) dim(name string, limit float64) int {
	if math.IsInf(limit, 1) {
		return -1
	}
	c.names = append(c.names, name)
	c.Limit = append(c.Limit, limit)
	return len(c.Limit) - 1
}

// Add adds sign times the demand u, of a type that has dimensions, to the vector v.
func (c *Capacity) Add(v []float64, u *Use, sign float64) {
	amounts := u.amounts()
	for n, d := range c.Dims(u.GPUType) {
		if d >= 0 {
			v[d] += sign * amounts[n]
		}
	}
}

// Exceeded returns the first dimension in which the demand v exceeds the
// capacity, −1 if it fits.
func (c *Capacity) Exceeded(v []float64) int {
	for d := range v {
		if v[d] > c.Limit[d]*(1+Slack)+Slack {
			return d
		}
	}
	return -1
}

// Positions lists the dimensions that options of a GPU type use, its GPUs first.
func (c *Capacity) Positions(gpuType string) []int {
	t := c.Dims(gpuType)
	return slices.DeleteFunc(t[:], func(d int) bool { return d < 0 })
}

// Shares writes the demand u to v as shares of the limits, one for each dimension
// of Positions of its type, t, and returns the largest. A demand for a resource
// whose limit is zero is an infinite share.
func (c *Capacity) Shares(v *[MaxDims]float64, t Dims, u *Use) (most float64) {
	n := 0
	for k, x := range u.amounts() {
		if d := t[k]; d >= 0 {
			if x > 0 {
				v[n] = x / c.Limit[d]
			}
			most = max(most, v[n])
			n++
		}
	}
	return most
}

// Unlimited returns +Inf for 0, which in [data.Node] means no limit.
func Unlimited(x float64) float64 {
	if x <= 0 {
		return math.Inf(1)
	}
	return x
}
