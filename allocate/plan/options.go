package plan

import (
	"errors"
	"fmt"
	"slices"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/data"
	"knee/predict"
)

// maxServers bounds how many counts of parameter servers are tried for one
// number of workers.
const maxServers = 12

// BuildOptions returns every allocation of the cluster that a job could get
// by itself, with its predicted speed and its value.
//
// It varies the GPU type and mode (those the job allows, the model knows and
// the cluster has), the workers within the job's range, and for modes with
// parameter servers their count from 1 to the workers. Each stands on as few
// nodes as possible, in equal parts. The batch is the best one where the job
// lets it adapt, else the initial batch spread over the workers. What the
// job runs on now is an option of its own (Keeps), without the restart that
// every other option pays for.
//
// The table is empty, without error, if nothing fits the cluster. The error
// says what the model could not answer if it could answer nothing.
func BuildOptions(job data.Job, p *predict.Predictor, cluster *data.Cluster, goal objective.Objective) ([]allocate.Option, error) {
	o := modelled{Predictor: p}
	in := newClusterFit(cluster)
	options, err := buildOptions(job, o, in)
	if err != nil || len(options) == 0 {
		return nil, err
	}
	ref, err := reference(job, o, in)
	if err != nil {
		return nil, err
	}
	objective.SetValues(goal, objective.Subject{Job: job, Reference: ref}, options)
	return options, nil
}

// buildOptions is the option table without values.
func buildOptions(job data.Job, o oracle, in *clusterFit) ([]allocate.Option, error) {
	var options []allocate.Option
	var failed error
	try := func(c data.Config, keeps bool) {
		a, err := answer(job, o, c)
		if err != nil {
			if failed == nil {
				failed = fmt.Errorf("%s: %w", c, err)
			}
			return
		}
		if a.Goodput.Mean > 0 {
			options = append(options, allocate.Option{Config: a.Config, Answer: a, Use: allocate.UseOf(a.Config, job.Resources), Keeps: keeps})
		}
	}
	all := shapes(job, o, in)
	options = make([]allocate.Option, 0, len(all)+1)
	cur, running := standing(job, in)
	if running {
		try(cur, true)
	}
	for _, c := range all {
		if !running || !sameAllocation(c, cur) {
			try(c, false)
		}
	}
	if len(options) == 0 && failed != nil {
		return nil, fmt.Errorf("options of job %q: no configuration can be predicted, the first: %w", job.Name, failed)
	}
	return options, nil
}

// standing returns what the job runs on, if it may stay there.
func standing(job data.Job, in *clusterFit) (data.Config, bool) {
	if job.Current == nil || len(job.Current.Placement) == 0 {
		return data.Config{}, false
	}
	c := currentConfig(job)
	ok := c.Workers >= max(1, job.Workers.Min) && (job.Workers.Max <= 0 || c.Workers <= job.Workers.Max) &&
		allowed(job.GPUTypes, c.GPUType) && (len(job.Modes) == 0 || slices.Contains(job.Modes, c.Mode)) &&
		in.nodeFit(c.GPUType, job.Resources.Worker).holds(c.Placement)
	if c.Mode.UsesPS() {
		ok = ok && c.PS >= max(1, job.PS.Min)
	}
	return c, ok
}

// shapes lists the configurations to ask about, without batch, in order of
// GPU type, mode, workers, ps. The next call for the same rooms uses the
// memory of the answer again.
func shapes(job data.Job, o oracle, in *clusterFit) []data.Config {
	out := in.shapes[:0]
	for _, t := range in.types {
		if !allowed(job.GPUTypes, t) || !slices.Contains(o.GPUTypes(), t) {
			continue
		}
		h := in.nodeFit(t, job.Resources.Worker)
		counts := in.offered(workerCounts(job, h), h)
		for _, m := range modes(job, o, t) {
			for _, w := range counts {
				shape, ok := h.shape(w)
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
	in.shapes = out
	return out
}

func allowed(list []string, t string) bool { return len(list) == 0 || slices.Contains(list, t) }

// modes are those of the model that the job allows; a model that cannot say
// is taken to know allreduce.
func modes(job data.Job, o oracle, gpuType string) []data.Mode {
	known := o.Modes(gpuType)
	if len(known) == 0 {
		known = []data.Mode{data.AllReduce}
	}
	if len(job.Modes) == 0 {
		return known
	}
	var out []data.Mode
	for _, m := range known {
		if slices.Contains(job.Modes, m) {
			out = append(out, m)
		}
	}
	return out
}

// workerCounts are the sizes worth looking at: every one up to two full
// nodes (at least 16), then whole nodes in steps of about an eighth, the
// ends of the range, and what the job has now. Beyond a few nodes a job that
// leaves part of a node empty fragments the cluster for no speed of its own.
func workerCounts(job data.Job, h nodeFit) []int {
	top := h.total()
	if job.Workers.Max > 0 {
		top = min(top, job.Workers.Max)
	}
	bottom := max(1, job.Workers.Min)
	dense := max(16, 2*h.widest())
	counts := map[int]bool{bottom: true, top: true}
	if job.Current != nil {
		counts[job.Current.Placement.Workers()] = true
	}
	for w := bottom; w <= min(top, dense); w++ {
		counts[w] = true
	}
	for w := h.widest(); w > 0 && w <= top; w += stride(w, h.widest()) {
		counts[w] = true
	}
	var out []int
	for w := range counts {
		if w >= bottom && w <= top {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// stride is the step from w workers to the next size, in whole nodes.
func stride(w, node int) int { return node * max(1, w/(8*node)) }

// serverCounts are the numbers of parameter servers to try beside w workers.
func serverCounts(job data.Job, m data.Mode, w int) []int {
	if !m.UsesPS() {
		return []int{0}
	}
	lo, hi := max(1, job.PS.Min), w
	if job.PS.Max > 0 {
		hi = job.PS.Max
	}
	hi = max(hi, lo)
	if hi-lo < maxServers {
		out := make([]int, 0, hi-lo+1)
		for n := lo; n <= hi; n++ {
			out = append(out, n)
		}
		return out
	}
	var out []int
	for i := range maxServers {
		n := lo + (hi-lo)*i/(maxServers-1)
		if len(out) == 0 || n > out[len(out)-1] {
			out = append(out, n)
		}
	}
	return out
}

// answer predicts a shape at the batch the job may use there.
func answer(job data.Job, o oracle, c data.Config) (predict.Answer, error) {
	if job.Batch.Adapt || job.Batch.Initial <= 0 {
		c.LocalBatch, c.AccumSteps = 0, 0
		return o.BestBatch(c)
	}
	return o.At(fixedBatch(job, c))
}

// fixedBatch spreads the initial batch over the workers, which leaves the
// training as its owner tuned it. The local batch may be a fraction.
func fixedBatch(job data.Job, c data.Config) data.Config {
	c.LocalBatch, c.AccumSteps = job.Batch.Initial/float64(c.Workers), 0
	return c
}

// reference predicts the smallest allocation a job may have, on the first
// GPU type and mode that can be predicted, at the batch the job may use: the
// yardstick of the job's speed, the same for every policy.
func reference(job data.Job, o oracle, in *clusterFit) (predict.Answer, error) {
	var failed error
	all := shapes(job, o, in)
	order := make([]int, len(all))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[a].Workers - all[b].Workers })
	for _, n := range order {
		a, err := answer(job, o, all[n])
		if err == nil && a.Goodput.Mean > 0 {
			return a, nil
		}
		if failed == nil {
			failed = err
		}
	}
	if failed == nil {
		failed = errors.New("no allocation fits the cluster")
	}
	return predict.Answer{}, fmt.Errorf("smallest allocation of job %q: %w", job.Name, failed)
}
