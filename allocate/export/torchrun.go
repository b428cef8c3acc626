package export

import (
	"fmt"
	"strings"

	"knee/data"
)

// Torchrun writes one script per job for clusters without a scheduler: run
// it on every node of the job, and it starts that node's workers with
// torchrun, one process per GPU. The node is the first argument, else the
// short host name. Stopping what ran before is left to who runs the scripts;
// paused jobs are named in paused.txt.
type Torchrun struct{}

// Export implements [Exporter].
func (Torchrun) Export(p data.Plan) ([]File, error) {
	ts, err := tasks("torchrun", p)
	if err != nil {
		return nil, err
	}
	var files []File
	var paused strings.Builder
	for _, t := range ts {
		if t.paused() {
			fmt.Fprintf(&paused, "%s: %s\n", comment(t.Name), comment(t.Reason))
			continue
		}
		if t.servers() {
			return nil, &Refusal{"torchrun", t.Name, "it uses parameter servers, which torchrun does not start; export it to tfjob or slurm"}
		}
		if len(t.Template.Command) == 0 {
			return nil, &Refusal{"torchrun", t.Name, "template.command is empty, and torchrun must be told what to run"}
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
	fmt.Fprintf(&b, "#!/bin/sh\n# knee: job %s, %d workers on %d nodes. Usage: %s.torchrun.sh [node]\nset -eu\n",
		comment(t.Name), t.Workers, len(t.Placement), t.ID)
	for _, kv := range t.environment() {
		fmt.Fprintf(&b, "export %s=%s\n", kv[0], shell(kv[1]))
	}
	b.WriteString("case \"${1:-$(hostname -s)}\" in\n")
	for rank, s := range t.Placement {
		fmt.Fprintf(&b, "%s)\n  exec torchrun --nnodes=%d --nproc-per-node=%d --node-rank=%d --master-addr=%s --master-port=\"${MASTER_PORT:-29500}\" %s ;;\n",
			s.Node, len(t.Placement), s.Workers, rank, t.Placement[0].Node, shellWords(torchrunTarget(t.Template.Command)))
	}
	fmt.Fprintf(&b, "*)\n  echo \"no worker of %s stands on ${1:-this node}\" >&2; exit 1 ;;\nesac\n", t.ID)
	return b.String()
}

// torchrunTarget drops the interpreter of "python train.py", which torchrun
// adds itself; any other program is started as it is.
func torchrunTarget(command []string) []string {
	first := command[0]
	if i := strings.LastIndexByte(first, '/'); i >= 0 {
		first = first[i+1:]
	}
	if (first == "python" || first == "python3") && len(command) > 1 && !strings.HasPrefix(command[1], "-") {
		return command[1:]
	}
	if first == "python" || first == "python3" {
		if len(command) > 2 && command[1] == "-m" {
			return append([]string{"--module"}, command[2:]...)
		}
	}
	return append([]string{"--no-python"}, command...)
}
