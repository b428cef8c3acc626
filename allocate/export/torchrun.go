package export

import (
	"fmt"
	"path"
	"strings"
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
		if t.Paused() {
			fmt.Fprintf(&paused, "%s: %s\n", comment(t.Name), comment(t.Reason))
			continue
		}
		if err := t.expressible("torchrun", true, false); err != nil {
			return nil, err
		}
		f, err := script(t.ID+".torchrun.sh", "torchrun.sh", t)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if paused.Len() > 0 {
		files = append(files, File{Name: "paused.txt", Mode: 0o644, Data: []byte(paused.String())})
	}
	return files, nil
}

// NodeRange is "fewest:most" nodes of an elastic job with the same workers on each,
// empty if it cannot be elastic.
func (t task) NodeRange() string {
	n := t.PerNode()
	if n == 0 || t.Range.Max <= t.Range.Min {
		return ""
	}
	lo, hi := max(1, (t.Range.Min+n-1)/n), max(len(t.Placement), t.Range.Max/n)
	if lo >= hi {
		return ""
	}
	return fmt.Sprintf("%d:%d", lo, hi)
}

// Torchrun is what torchrun starts. It adds the interpreter of "python train.py" itself;
// any other program is started as it is.
func (t task) Torchrun() []string {
	command := t.Template.Command
	first := path.Base(command[0])
	switch python := first == "python" || first == "python3"; {
	case python && len(command) > 1 && !strings.HasPrefix(command[1], "-"):
		return command[1:]
	case python && len(command) > 2 && command[1] == "-m":
		return append([]string{"--module"}, command[2:]...)
	}
	return append([]string{"--no-python"}, command...)
}
