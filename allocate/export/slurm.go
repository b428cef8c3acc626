package export

import (
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// slurm writes an sbatch script for every job that runs, and submit.sh, which
// applies the plan: it shrinks jobs in place where Slurm can, stops all other jobs
// that the plan pauses or changes, waits until the nodes are free, and submits the
// new sizes and the starts.
//
// A running Slurm job cannot grow, and shrinks by whole nodes only. Any other change
// is a checkpoint (SIGTERM to the tasks), a cancellation and a new submission, also of
// a pending job, whose script has its size. A job shrinks in place if its nodes hold
// equal numbers and it keeps the node of its script: on SIGUSR1 from submit.sh the
// script stops the tasks by SIGTERM, waits until submit.sh has removed the nodes, and
// continues as the new script. The nodes must be able to read the folder of the
// export. Without accounting Slurm refuses a second shrink; the job is then stopped
// and submitted like the others.
//
// Every worker is one task with one GPU, in the environment of the local launcher of
// package launch: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and the KNEE_
// variables. Nodes with different counts, and parameter servers, become components of
// a heterogeneous job that runs as one step.
func slurm(ts []task) ([]File, error) {
	var files []File
	for _, t := range ts {
		if t.paused() {
			continue
		}
		if err := slurmProblem(t); err != nil {
			return nil, err
		}
		files = append(files, File{Name: t.ID + ".sbatch", Mode: 0o755, Data: []byte(sbatch(t))})
	}
	return append(files, File{Name: "submit.sh", Mode: 0o755, Data: []byte(slurmSubmit(ts))}), nil
}

// group is one component of a Slurm job: nodes with the same tasks.
type group struct {
	nodes   []string
	perNode int
	servers bool
}

// tasks is the number of its tasks.
func (g group) tasks() int { return len(g.nodes) * g.perNode }

// slurmProblem refuses values with another meaning in an #SBATCH line.
func slurmProblem(t task) error {
	for _, f := range [][2]string{{"partition", t.Template.Partition}, {"account", t.Template.Account}, {"time_limit", t.Template.TimeLimit}, {"gpu_type", t.gpuName()}} {
		if f[1] != "" && !word.MatchString(f[1]) {
			return t.refuse("%s %q: want letters, digits and _ . , : + @ / = -", f[0], f[1])
		}
	}
	return t.expressible("Slurm", true, true)
}

// groups returns the nodes by equal numbers of workers, then by equal numbers of
// parameter servers.
func groups(t task) []group {
	var out []group
	add := func(node string, n int, servers bool) {
		if n == 0 {
			return
		}
		for i := range out {
			if out[i].perNode == n && out[i].servers == servers {
				out[i].nodes = append(out[i].nodes, node)
				return
			}
		}
		out = append(out, group{nodes: []string{node}, perNode: n, servers: servers})
	}
	for _, s := range t.Placement {
		add(s.Node, s.Workers, false)
	}
	for _, s := range t.Placement {
		add(s.Node, s.PS, true)
	}
	return out
}

// sbatch is the script of one job.
func sbatch(t task) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/bash")
	line("# knee: job %s, %s, %d ps on %s", comment(t.Name), english.Plural(t.Workers, "worker", ""), t.PS, english.Plural(len(t.Placement), "node", ""))
	gs := groups(t)
	for i, g := range gs {
		if i > 0 {
			line("#SBATCH hetjob")
		}
		for _, o := range directives(t, g, i == 0) {
			line("#SBATCH %s", o)
		}
	}
	line("")
	line("set -euo pipefail")
	for _, kv := range t.environment() {
		line("export %s=%s", kv[0], shell(kv[1]))
	}
	line("export WORLD_SIZE=%d", t.Workers+t.PS)
	line("export MASTER_ADDR=%s", gs[0].nodes[0])
	line("export MASTER_PORT=$((20000 + SLURM_JOB_ID %% 12000))")
	if hosts := serverHosts(gs); len(hosts) > 0 {
		line("export KNEE_PS_HOSTS=%s", strings.Join(hosts, ","))
	}
	line("")
	line("# Task numbers run over all components: workers first, then parameter servers.")
	line("run=(bash -c '")
	line("  export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID KNEE_ROLE=worker")
	line("  if [ \"$RANK\" -ge \"$KNEE_WORKERS\" ]; then")
	line("    export KNEE_ROLE=ps KNEE_PS_RANK=$((RANK - KNEE_WORKERS))")
	line("  fi")
	line("  exec \"$@\"' knee %s)", shellWords(t.Template.Command))
	if t.shrinks(gs) {
		b.WriteString(slurmStep(t, gs[0]))
		return b.String()
	}
	var steps []string
	for i, g := range gs {
		var step string
		if len(gs) > 1 {
			step = fmt.Sprintf("--het-group=%d ", i)
		}
		steps = append(steps, step+perTask(t, g)+`"${run[@]}"`)
	}
	line("exec srun --kill-on-bad-exit=1 %s", strings.Join(steps, " : "))
	return b.String()
}

// perTask is the cores of a task as an option of srun, which from 22.05 on does not
// take them from sbatch.
func perTask(t task, g group) string {
	if n := cores(t, g); n > 0 {
		return fmt.Sprintf("--cpus-per-task=%d ", n)
	}
	return ""
}

// serverHosts lists where each parameter server listens, in the order of their tasks.
func serverHosts(gs []group) []string {
	var hosts []string
	for _, g := range gs {
		for _, node := range g.nodes {
			for range g.perNode {
				if g.servers {
					hosts = append(hosts, fmt.Sprintf("%s:$((MASTER_PORT + %d))", node, 1+len(hosts)))
				}
			}
		}
	}
	return hosts
}

// directives are the #SBATCH options of one component; the first has those of the job.
func directives(t task, g group, first bool) []string {
	var out []string
	if first {
		out = append(out, "--job-name="+t.ID)
		if t.shrinks(groups(t)) {
			out = append(out, "--comment="+resizable)
		}
	}
	for _, f := range [][2]string{{"partition", t.Template.Partition}, {"account", t.Template.Account}, {"time", t.Template.TimeLimit}} {
		if f[1] != "" {
			out = append(out, "--"+f[0]+"="+f[1])
		}
	}
	out = append(out,
		fmt.Sprintf("--nodes=%d", len(g.nodes)),
		fmt.Sprintf("--ntasks=%d", g.tasks()),
		fmt.Sprintf("--ntasks-per-node=%d", g.perNode),
		"--nodelist="+strings.Join(g.nodes, ","))
	memory := t.Needs.WorkerMemory
	if g.servers {
		memory = t.Needs.PSMemory
	} else if t.gpu() {
		out = append(out, fmt.Sprintf("--gres=gpu:%s:%d", t.gpuName(), g.perNode))
	}
	if n := cores(t, g); n > 0 {
		out = append(out, fmt.Sprintf("--cpus-per-task=%d", n))
	}
	if memory > 0 {
		// Slurm counts memory per node, in MiB.
		mib := (memory*int64(g.perNode) + 1<<20 - 1) >> 20
		out = append(out, fmt.Sprintf("--mem=%dM", mib))
	}
	return out
}

// cores is the whole cores that one task of a component needs.
func cores(t task, g group) int {
	if g.servers {
		return int(math.Ceil(t.Needs.PSCPUs))
	}
	return int(math.Ceil(t.Needs.WorkerCPUs))
}
