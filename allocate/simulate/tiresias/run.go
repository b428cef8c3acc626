package tiresias

import (
	"fmt"
	"slices"
	"strings"

	"knee/allocate/simulate"
)

// Settings says how to replay a workload.
type Settings struct {
	GPUs   int    // of the cluster, > 0
	Policy string // one of [Policies]
	// Service is the distribution of the GPU-seconds that jobs need, in any
	// order; only dlas-gpu-gittins looks at it, and needs it.
	Service []int64
	// Used is told, if not nil, after every event what is in use from then on.
	Used func(simulate.Usage)
}

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
	if a, ok := aliases[name]; ok {
		name = a
	}
	return name, slices.Contains(Policies(), name)
}

// Run replays a workload; the outcomes are in its order. It fails if a value
// is not one that the published program can take, or if a job wants more
// GPUs than there are: that program leaves such jobs out without a word.
func Run(workload []simulate.Job, s Settings) ([]simulate.Outcome, error) {
	name, ok := Canonical(s.Policy)
	if !ok {
		return nil, fmt.Errorf("simulate: policy %q is not one of the Tiresias simulator; want one of %s", s.Policy, strings.Join(Policies(), ", "))
	}
	jobs, err := jobsOf(workload)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if j.gpus > int64(s.GPUs) {
			return nil, bad(workload[j.index], "workers", fmt.Sprint(j.gpus), fmt.Sprintf("at most the %d GPUs of the cluster", s.GPUs))
		}
	}
	switch name {
	case "fifo", "fjf":
		runToCompletion(jobs, int64(s.GPUs), name == "fjf", s.Used)
	default:
		d, err := newDiscipline(name, s.Service)
		if err != nil {
			return nil, err
		}
		(&pool{discipline: d, gpus: int64(s.GPUs), waiting: jobs, used: s.Used}).run()
	}
	return outcomes(jobs), nil
}

// outcomes are in the order of the workload.
func outcomes(jobs []*job) []simulate.Outcome {
	out := make([]simulate.Outcome, len(jobs))
	for _, j := range jobs {
		out[j.index] = simulate.Outcome{
			Job: j.name, Submit: float64(j.submit), Start: float64(j.start), End: float64(j.end),
			Restarts: j.resumed, GPUSeconds: float64(j.duration * j.gpus),
		}
	}
	return out
}

// begin lets a job run.
func (j *job) begin(now int64) {
	if !j.running && j.ever {
		j.resumed++
	}
	if !j.ever {
		j.ever, j.start = true, now
	}
	j.running = true
}
