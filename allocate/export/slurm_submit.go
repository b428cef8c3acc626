package export

import (
	_ "embed"
	"fmt"
	"strings"

	"knee/data"
)

// The fixed parts of the scripts: the functions of submit.sh, and what the script of a
// job that can shrink does before and after it starts its tasks. Its environment has
// the sizes of the first allocation, which srun would take.
var (
	//go:embed slurm/submit.sh
	submitFunctions string
	//go:embed slurm/before_step.sh
	beforeStep string
	//go:embed slurm/after_step.sh
	afterStep string
)

// resizable is the comment of Slurm jobs whose script can continue on fewer nodes;
// submit.sh looks for it.
const resizable = "knee:resizable"

// shrinks reports whether the job can give nodes back while it runs: it has GPU
// workers, equally many on each node, and no parameter servers.
func (t task) shrinks(gs []group) bool { return len(gs) == 1 && !gs[0].servers && t.gpu() }

// slurmStep runs the tasks of a job that can shrink.
func slurmStep(t task, g group) string {
	step := fmt.Sprintf("srun --kill-on-bad-exit=1 --nodes=%d --ntasks=%d --ntasks-per-node=%d --nodelist=%s %s\"${run[@]}\" &\n",
		len(g.nodes), g.tasks(), g.perNode, strings.Join(g.nodes, ","), perTask(t, g))
	return beforeStep + step + fmt.Sprintf("step=$! had=%d code=0\n", len(g.nodes)) + afterStep
}

// slurmSubmit is the script that applies the plan.
func slurmSubmit(ts []task) string {
	var b strings.Builder
	b.WriteString(submitFunctions)
	for _, t := range ts {
		switch {
		case t.paused():
			fmt.Fprintf(&b, "stop %s # %s: %s\n", t.ID, t.Action, comment(t.Reason))
		case t.Action == data.Shrink && t.shrinks(groups(t)):
			g := groups(t)[0]
			fmt.Fprintf(&b, "shrink %s gpu:%s:%d %s || stop %s\n", t.ID, t.gpuName(), g.perNode, strings.Join(g.nodes, ","), t.ID)
		case t.changed():
			fmt.Fprintf(&b, "stop %s # %s\n", t.ID, t.Action)
		case t.Action == data.Keep:
			fmt.Fprintf(&b, "# %s is kept as it runs\n", t.ID)
		}
	}
	for _, t := range ts {
		switch {
		case t.paused() || t.Action == data.Keep:
		case t.Action == data.Shrink && t.shrinks(groups(t)):
			fmt.Fprintf(&b, "[ -n \"$(jobs_of %s)\" ] || sbatch --parsable %s.sbatch\n", t.ID, t.ID)
		default:
			fmt.Fprintf(&b, "sbatch --parsable %s.sbatch\n", t.ID)
		}
	}
	return b.String()
}
