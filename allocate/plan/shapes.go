package plan

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"knee/allocate/place"
	"knee/data"
)

// clusterFit is a cluster and what its nodes could hold if it were empty.
type clusterFit struct {
	*data.Cluster
	types []string
	fits  map[fitKey]place.Fit
	sets  map[string]map[string]bool // see only
	sizes string                     // see SizeSets; empty: all
	equal bool                       // every node of a job holds the same number of its workers
}

type fitKey struct {
	gpuType, only string
	need          data.Need
}

func newClusterFit(c *data.Cluster) *clusterFit {
	return &clusterFit{Cluster: c, types: c.GPUTypes(), fits: map[fitKey]place.Fit{}, sets: map[string]map[string]bool{}}
}

// of returns the fit of the nodes of a GPU type that a job may use, for its workers.
func (r *clusterFit) of(gpuType string, job data.Job) place.Fit {
	key := fitKey{gpuType, strings.Join(job.Nodes, ","), job.Resources.Worker}
	f, known := r.fits[key]
	if !known {
		may := *r.Cluster
		if names := r.only(job); names != nil {
			may.Nodes = slices.DeleteFunc(slices.Clone(may.Nodes), func(n data.Node) bool { return !names[n.Name] })
		}
		f = place.FitOf(&may, gpuType, job.Resources.Worker)
		r.fits[key] = f
	}
	return f
}

// maxServers is the most counts of parameter servers tried for one number of workers.
const maxServers = 12

// running returns the allocation of a running job and whether the job may keep it.
func running(job data.Job, in *clusterFit) (data.Config, bool) {
	if job.Current == nil || len(job.Current.Placement) == 0 {
		return data.Config{}, false
	}
	c := job.Current.Config()
	within := func(n int, r data.IntRange) bool { return n >= max(1, r.Min) && (r.Max <= 0 || n <= r.Max) }
	return c, within(c.Workers, job.Workers) && (!c.Mode.UsesPS() || within(c.PS, job.PS)) &&
		allowed(job.GPUTypes, c.GPUType) && (len(job.Modes) == 0 || slices.Contains(job.Modes, c.Mode)) &&
		(job.LogicalWorkers == 0 || job.LogicalWorkers%c.Workers == 0) && in.of(c.GPUType, job).Holds(c.Placement)
}

// shapes lists the configurations to predict, without batch, by GPU type, in the order of
// the job's if it names them, mode, workers, ps.
func shapes(job data.Job, o oracle, in *clusterFit) (out []data.Config) {
	named := func(t string) int { return slices.Index(job.GPUTypes, t) }
	for _, t := range slices.SortedStableFunc(slices.Values(in.types), func(a, b string) int { return named(a) - named(b) }) {
		if !allowed(job.GPUTypes, t) || !slices.Contains(o.GPUTypes(), t) {
			continue
		}
		h := in.of(t, job)
		for _, m := range modes(job, o, t) {
			for _, w := range in.offered(whole(job, fixedBatch(job, o, t, m), workerCounts(job, h)), h) {
				shape, ok := h.Even(w)
				if in.equal {
					shape, ok = h.Equal(w)
				}
				if !ok {
					continue
				}
				c := data.Config{GPUType: t, Mode: m, Workers: w, Placement: shape, Nodes: len(shape)}
				for _, ps := range serverCounts(job, m, w) {
					c.PS = ps
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// only is the set of nodes that a job may use, nil for all; jobs with the same share it.
func (r *clusterFit) only(job data.Job) map[string]bool {
	if len(job.Nodes) == 0 {
		return nil
	}
	key := strings.Join(job.Nodes, ",")
	if r.sets[key] == nil {
		r.sets[key] = map[string]bool{}
		for _, n := range job.Nodes {
			r.sets[key][n] = true
		}
	}
	return r.sets[key]
}

func allowed(list []string, t string) bool { return len(list) == 0 || slices.Contains(list, t) }

// modes are those of the model that the job allows; allreduce if the model has none.
func modes(job data.Job, o oracle, gpuType string) []data.Mode {
	known := o.Modes(gpuType)
	if len(known) == 0 {
		known = []data.Mode{data.AllReduce}
	}
	return slices.DeleteFunc(slices.Clone(known), func(m data.Mode) bool {
		return len(job.Modes) > 0 && !slices.Contains(job.Modes, m)
	})
}

// workerCounts are the numbers of workers to predict: every one up to two full nodes (at
// least 16), then whole nodes in steps of about an eighth, powers of two, the ends of the
// range, and the present number.
func workerCounts(job data.Job, h place.Fit) []int {
	top := h.Total()
	if job.Workers.Max > 0 {
		top = min(top, job.Workers.Max)
	}
	bottom := max(1, job.Workers.Min)
	dense := max(16, 2*h.Widest(), job.LogicalWorkers)
	counts := map[int]bool{bottom: true, top: true}
	if job.Current != nil {
		counts[job.Current.Placement.Workers()] = true
	}
	for w := bottom; w <= min(top, dense); w++ {
		counts[w] = true
	}
	for w := h.Widest(); w > 0 && w <= top; w += h.Widest() * max(1, w/(8*h.Widest())) {
		counts[w] = true
	}
	for w := 1; w <= top; w *= 2 {
		counts[w] = true
	}
	maps.DeleteFunc(counts, func(w int, _ bool) bool { return w < bottom || w > top })
	return slices.Sorted(maps.Keys(counts))
}

// fixedBatch is the global batch of a job that may not adapt it, else the one that all
// measurements of its model have, unless those choose layouts, whose replicas divide it; 0
// if there is neither.
func fixedBatch(job data.Job, o oracle, gpuType string, mode data.Mode) float64 {
	if !job.Batch.Adapt && job.Batch.Initial > 0 {
		return job.Batch.Initial
	}
	if m, ok := o.(modelled); ok && m.Model.Layouts(gpuType) == nil {
		return m.FixedBatch(gpuType, mode)
	}
	return 0
}

// whole keeps the sizes that divide a fixed batch into whole samples; all if none does
// or the batch is 0. Of a job with logical workers it keeps the sizes that divide them
// (EasyScale, Li et al., SC 2023: training does not depend on the number of GPUs).
func whole(job data.Job, batch float64, counts []int) []int {
	if n := job.LogicalWorkers; n > 0 {
		return slices.DeleteFunc(counts, func(w int) bool { return n%w != 0 })
	}
	divides := func(w int) bool { return math.Mod(batch, float64(w)) == 0 }
	if batch <= 0 || !slices.ContainsFunc(counts, divides) {
		return counts
	}
	return slices.DeleteFunc(counts, func(w int) bool { return !divides(w) })
}

// serverCounts are the numbers of parameter servers to try beside w workers.
func serverCounts(job data.Job, m data.Mode, w int) []int {
	if !m.UsesPS() {
		return []int{0}
	}
	lo := max(1, job.PS.Min)
	hi := max(lo, cmp.Or(max(0, job.PS.Max), w))
	var out []int
	for i := range maxServers {
		out = append(out, lo+(hi-lo)*i/(maxServers-1))
	}
	return slices.Compact(out)
}

// SizeSets lists the sets of sizes that a problem can be restricted to. The running size
// is always offered.
//
//	all    all sizes that are predicted
//	pow2   powers of two
//	nodes  powers of two on one node, then whole nodes (Sia, SOSP 2023, section 3.2)
func SizeSets() []string { return []string{"all", "pow2", "nodes"} }

// offered keeps the sizes of the set.
func (r *clusterFit) offered(sizes []int, h place.Fit) []int {
	node := max(1, h.Widest())
	switch r.sizes {
	case "pow2":
		return slices.DeleteFunc(sizes, func(w int) bool { return w&(w-1) != 0 })
	case "nodes":
		return slices.DeleteFunc(sizes, func(w int) bool { return w%node != 0 && (w > node || w&(w-1) != 0) })
	}
	return sizes
}
