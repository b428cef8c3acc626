package export

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize/english"

	"knee/data"
)

// slurm writes an sbatch script for every job that runs, and submit.sh, which applies the
// plan: it shrinks jobs in place where Slurm can, stops all other jobs that the plan
// pauses or changes, waits until the nodes are free, and submits new sizes and starts.
//
// A running Slurm job cannot grow, and shrinks by whole nodes only. Any other change is a
// checkpoint (SIGTERM to the tasks), a cancellation and a new submission, also of a
// pending job. A job shrinks in place if its nodes hold equal numbers and it keeps the
// node of its script: on SIGUSR1 from submit.sh the script stops the tasks by SIGTERM,
// waits until submit.sh has removed the nodes, and continues as the new script. The nodes
// must be able to read the folder of the export. Without accounting Slurm refuses a
// second shrink; the job is then stopped and submitted like the others.
func slurm(ts []task) ([]File, error) {
	var files []File
	for _, t := range ts {
		if t.Paused() {
			continue
		}
		if err := slurmProblem(t); err != nil {
			return nil, err
		}
		f, err := script(t.ID+".sbatch", "slurm.sbatch", t)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	submit, err := script("submit.sh", "slurm.submit.sh", ts)
	return append(files, submit), err
}

// slurmProblem refuses values with another meaning in an #SBATCH line.
func slurmProblem(t task) error {
	for _, f := range [][2]string{{"partition", t.Template.Partition}, {"account", t.Template.Account}, {"gpu_type", t.GPU()}} {
		if f[1] != "" && !word.MatchString(f[1]) {
			return t.refuse("%s %q: want letters, digits and _ . , : + @ / = -", f[0], f[1])
		}
	}
	return t.expressible("Slurm", true, true)
}

// component is the nodes of a job with equally many workers, and equally many parameter
// servers: a part of a heterogeneous job, two of which get no node together.
type component struct {
	Nodes       []string
	Workers, PS int // on each node
}

// Count is the tasks on each node.
func (c component) Count() int { return c.Workers + c.PS }

// Tasks is the number of tasks.
func (c component) Tasks() int { return len(c.Nodes) * c.Count() }

// Components are the parts of the job, those with workers first.
func (t task) Components() (out []component) {
	for _, servers := range []bool{false, true} {
		for _, s := range t.Placement {
			if servers != (s.Workers == 0) {
				continue
			}
			at := slices.IndexFunc(out, func(c component) bool { return c.Workers == s.Workers && c.PS == s.PS })
			if at < 0 {
				at, out = len(out), append(out, component{Workers: s.Workers, PS: s.PS})
			}
			out[at].Nodes = append(out[at].Nodes, s.Node)
		}
	}
	return out
}

// Ranks are those of the tasks in the order of Slurm, which is node by node.
func (t task) Ranks() (out []int) {
	worker, server := 0, t.Workers
	for _, c := range t.Components() {
		for range c.Nodes {
			for range c.Workers {
				out, worker = append(out, worker), worker+1
			}
			for range c.PS {
				out, server = append(out, server), server+1
			}
		}
	}
	return out
}

// Resizable reports whether the job can give nodes back while it runs: it has GPU
// workers, equally many on each node, and no parameter servers.
func (t task) Resizable() bool { return len(t.Components()) == 1 && t.PS == 0 && t.HasGPUs() }

// ShrinksInPlace reports whether the plan takes nodes from a job that can go on.
func (t task) ShrinksInPlace() bool { return t.Action == data.Shrink && t.Resizable() }

// GRES is n GPUs as Slurm requests them. A type that Slurm does not name is called gpu.
func (t task) GRES(n int) string {
	if t.GPU() == "gpu" {
		return fmt.Sprintf("gpu:%d", n)
	}
	return fmt.Sprintf("gpu:%s:%d", t.GPU(), n)
}

// Mixed reports whether its nodes hold both workers and servers.
func (c component) Mixed() bool { return c.Workers > 0 && c.PS > 0 }

// Slots is what the allocation has as tasks on each node. Where tasks need different
// numbers of cores, each is one core of their sum, and the tasks share them.
func (t task) Slots(c component) int {
	if !c.Mixed() {
		return c.Count()
	}
	cores := t.Resources.WorkerCPUs*float64(c.Workers) + t.Resources.PSCPUs*float64(c.PS)
	return max(c.Count(), int(math.Ceil(cores-1e-9)))
}

// Cores is the whole cores of a slot.
func (t task) Cores(c component) int {
	switch {
	case c.Mixed():
		return min(1, int(math.Ceil(t.Resources.WorkerCPUs+t.Resources.PSCPUs)))
	case c.PS > 0:
		return int(math.Ceil(t.Resources.PSCPUs))
	}
	return int(math.Ceil(t.Resources.WorkerCPUs))
}

// BeyondCores says which node of a plan has fewer cores than Slurm is asked for, and how many
// more nodes have; empty if none has. Slurm gives every task whole cores.
func BeyondCores(p data.Plan) (warning string) {
	asked, more := map[string]int{}, 0
	for _, j := range p.Jobs {
		t := task{PlannedJob: j}
		for _, c := range t.Components() {
			for _, n := range c.Nodes {
				asked[n] += t.Slots(c) * t.Cores(c)
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(p.NodeCPUs)) {
		switch has := p.NodeCPUs[n]; {
		case float64(asked[n]) <= has:
		case warning == "":
			warning = fmt.Sprintf("node %s has %g cores, and Slurm, which gives every task whole ones, is asked for %d: give resources in whole cores and plan again", n, has, asked[n])
		default:
			more++
		}
	}
	if more > 0 {
		warning += fmt.Sprintf(" (and %s)", english.Plural(more, "more node", ""))
	}
	return warning
}

// MiB is what a component needs of each of its nodes.
func (t task) MiB(c component) int64 {
	memory := t.Resources.WorkerMemory*int64(c.Workers) + t.Resources.PSMemory*int64(c.PS)
	return (memory + 1<<20 - 1) >> 20
}

// slurmTime matches the times of sbatch: d-h:m:s, d-h:m, d-h; h:m:s; m:s, m.
var slurmTime = regexp.MustCompile(`^(?:(\d{1,4})-(\d{1,3})(?::(\d{1,3})(?::(\d{1,3}))?)?|(\d{1,4}):(\d{1,3}):(\d{1,3})|(\d{1,6})(?::(\d{1,3}))?)$`)

// slurmUnits are the units of its groups.
var slurmUnits = []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second, time.Hour, time.Minute, time.Second, time.Minute, time.Second}

// Limit is the time limit of the job in seconds, 0 for none. Times are those of
// Slurm, or durations such as 36h.
func (t task) Limit() (int, error) {
	s := t.Template.TimeLimit
	if s == "" {
		return 0, nil
	}
	var limit time.Duration
	if m := slurmTime.FindStringSubmatch(s); m != nil {
		for i, unit := range slurmUnits {
			n, _ := strconv.Atoi(m[i+1]) // digits, or nothing
			limit += time.Duration(n) * unit
		}
	} else if d, err := data.ParseDuration(s); err == nil {
		limit = d
	}
	if limit < time.Second {
		return 0, t.refuse("template.time_limit %q: want a time such as 36h, 2d12h, or one of Slurm: 90 (minutes), 12:00:00, 1-12:00:00", s)
	}
	return int(limit.Seconds()), nil
}

// clock writes seconds as sbatch reads them.
func clock(s int) string { return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60) }
