package tiresias

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/simulate"
	"knee/data"
)

// Policies lists the names of the policies, as the published program spells
// them: fifo; fjf, first in first out where later jobs may pass one that
// does not fit; sjf, fewest GPUs first; shortest, shortest remaining time;
// shortest-gpu, smallest remaining GPU time; dlas and dlas-gpu, discretized
// least attained service in seconds and in GPU-seconds; dlas-gpu-gittins.
func Policies() []string {
	return []string{"dlas", "dlas-gpu", "dlas-gpu-gittins", "fifo", "fjf", "shortest", "shortest-gpu", "sjf"}
}

// aliases are the names that policies have elsewhere in this project.
var aliases = map[string]string{
	"fifo-backfill": "fjf", "srtf": "shortest", "tiresias-las": "dlas-gpu", "tiresias-gittins": "dlas-gpu-gittins",
}

// Canonical returns the published name of a policy, or false if it is not
// one of this simulator.
func Canonical(name string) (string, bool) {
	name = cmp.Or(aliases[name], name)
	return name, slices.Contains(Policies(), name)
}

// New returns a policy, one of [Policies] or an alias, for one replay. Service is a
// sample of the GPU-seconds that jobs need, in any order, for dlas-gpu-gittins alone.
func New(name string, service []int64) (allocate.Policy, error) {
	name, ok := Canonical(name)
	if !ok {
		return nil, fmt.Errorf("simulate: policy %q is not one of the Tiresias simulator; want one of %s", name, strings.Join(Policies(), ", "))
	}
	p := &published{order: by(waits), blocks: name == "fifo", queues: make([][]*job, 1)}
	switch name {
	case "sjf":
		p.order = by(func(j *job) float64 { return float64(j.Requested) })
	case "shortest":
		p.order = by(func(j *job) float64 { return j.Remaining })
	case "shortest-gpu":
		p.order = by(func(j *job) float64 { return j.Remaining * float64(j.Requested) })
	case "dlas", "dlas-gpu", "dlas-gpu-gittins":
		p.order, p.byGPU, p.queues = nil, name != "dlas", make([][]*job, len(limits)+1)
	}
	if name == "dlas-gpu-gittins" {
		g, err := newGittins(service)
		if err != nil {
			return nil, fmt.Errorf("simulate: dlas-gpu-gittins: %w", err)
		}
		rank := func(j *job) float64 { return g.index(int64(j.service(true))) }
		p.order = func(a, b *job) int {
			return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Submitted, b.Submitted))
		}
	}
	return p, nil
}

// Prepare returns the jobs of a workload as the published program takes them, and the
// pool of GPUs they run on. Durations lose their fraction. It fails if the program cannot
// take a value, or would leave a job out as too large.
func Prepare(workload []simulate.Job, gpus int) ([]simulate.Job, *data.Cluster, error) {
	pool := &data.Cluster{Nodes: []data.Node{{Name: "pool", GPUType: "gpu", GPUs: gpus}}}
	var out []simulate.Job
	for _, w := range workload {
		switch {
		case w.Submit != math.Trunc(w.Submit) || !(w.Submit >= 0) || w.Submit > 1e15:
			return nil, nil, w.Bad("submit_s", fmt.Sprint(w.Submit), "whole seconds ≥ 0, which is what this simulator counts in")
		case !(w.Work >= 1) || w.Work > 1e15:
			return nil, nil, w.Bad("duration_s", fmt.Sprint(w.Work), "a duration of at least one second")
		case w.Workers < 1:
			return nil, nil, w.Bad("workers", fmt.Sprint(w.Workers), "at least one GPU")
		case w.Workers > gpus:
			return nil, nil, w.Bad("workers", fmt.Sprint(w.Workers), fmt.Sprintf("at most the %d GPUs of the cluster", gpus))
		}
		w.Work = math.Trunc(w.Work)
		w.Options = simulate.RigidOptions(w, pool)
		out = append(out, w)
	}
	return out, pool, nil
}
