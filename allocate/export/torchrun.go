package export

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// torchrun writes one script per job for clusters without a scheduler: run on each
// node of the job, it starts the node's workers with torchrun, one process per GPU.
// The node is the first argument, else the short host name. The scripts do not stop
// earlier processes; paused.txt names the jobs that get nothing.
//
// A job with a range of workers and equal numbers on all nodes is elastic, with
// --nnodes=min:max. To grow it, run the script on more nodes; to shrink it, stop it on
// some. torchrun repeats the rendezvous of the others; their KNEE_ variables do not
// change.
func torchrun(ts []task) ([]File, error) {
	var files []File
	var paused strings.Builder
	for _, t := range ts {
		if t.paused() {
			fmt.Fprintf(&paused, "%s: %s\n", comment(t.Name), comment(t.Reason))
			continue
		}
		if err := t.expressible("torchrun", true, false); err != nil {
			return nil, err
		}
		files = append(files, File{Name: t.ID + ".torchrun.sh", Mode: 0o755, Data: []byte(torchrunScript(t))})
	}
	if paused.Len() > 0 {
		files = append(files, File{Name: "paused.txt", Mode: 0o644, Data: []byte(paused.String())})
	}
	return files, nil
}

func torchrunScript(t task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# knee: job %s, %s on %s. Usage: %s.torchrun.sh [node]\nset -eu\n",
		comment(t.Name), english.Plural(t.Workers, "worker", ""), english.Plural(len(t.Placement), "node", ""), t.ID)
	for _, kv := range t.environment() {
		fmt.Fprintf(&b, "export %s=%s\n", kv[0], shell(kv[1]))
	}
	b.WriteString("case \"${1:-$(hostname -s)}\" in\n")
	for rank, s := range t.Placement {
		meet := fmt.Sprintf("--nnodes=%d --nproc-per-node=%d --node-rank=%d --master-addr=%s --master-port=\"${MASTER_PORT:-29500}\"",
			len(t.Placement), s.Workers, rank, t.Placement[0].Node)
		if lo, hi := t.nodeRange(); lo < hi {
			meet = fmt.Sprintf("--nnodes=%d:%d --nproc-per-node=%d --rdzv-backend=c10d --rdzv-endpoint=%s:\"${MASTER_PORT:-29500}\" --rdzv-id=%s --max-restarts=%d",
				lo, hi, s.Workers, t.Placement[0].Node, t.ID, elasticRestarts)
		}
		fmt.Fprintf(&b, "\"%s\")\n  exec torchrun %s %s ;;\n", s.Node, meet, shellWords(torchrunTarget(t.Template.Command)))
	}
	fmt.Fprintf(&b, "*)\n  echo \"no worker of %s stands on ${1:-this node}\" >&2; exit 1 ;;\nesac\n", t.ID)
	return b.String()
}

// elasticRestarts is how often torchrun restarts the workers, after a failure or a
// change of nodes, before it ends.
const elasticRestarts = 100

// nodeRange is the fewest and most nodes of an elastic job with the same workers on
// each; both are 0 if it cannot be elastic.
func (t task) nodeRange() (lo, hi int) {
	n := t.perNode()
	if n == 0 || t.Range == nil || t.Range.Max <= t.Range.Min {
		return 0, 0
	}
	return max(1, (t.Range.Min+n-1)/n), max(len(t.Placement), t.Range.Max/n)
}

// torchrunTarget drops the interpreter of "python train.py", which torchrun
// adds itself; any other program is started as it is.
func torchrunTarget(command []string) []string {
	first := programName(command[0])
	switch python := first == "python" || first == "python3"; {
	case python && len(command) > 1 && !strings.HasPrefix(command[1], "-"):
		return command[1:]
	case python && len(command) > 2 && command[1] == "-m":
		return append([]string{"--module"}, command[2:]...)
	}
	return append([]string{"--no-python"}, command...)
}
