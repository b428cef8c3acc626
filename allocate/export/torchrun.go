package export

import (
	"fmt"
	"hash/crc32"
	"path"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// torchrun writes one script per job for clusters without a scheduler: run on each node
// of the job, it starts the node's workers with torchrun, one process per GPU. The node
// is the first argument, else the short host name. The scripts do not stop earlier
// processes; paused.txt names the jobs that get nothing. Jobs that share a node get GPUs
// of their own by CUDA_VISIBLE_DEVICES; beside a job that keeps running, whose GPUs no
// plan records, that must be set. The port follows from the name of the job.
//
// A job with a range of workers and equal numbers on all nodes is elastic, with
// --nnodes=min:max. To grow it, run the script on more nodes; to shrink it, stop it on
// some. torchrun repeats the rendezvous of the others; their KNEE_ variables do not
// change.
func torchrun(ts []task) ([]File, error) {
	var files []File
	var paused strings.Builder
	used := map[uint32]bool{}
	jobs, kept, given := map[string]int{}, map[string]int{}, map[string]int{} // by node: jobs, those that keep GPUs, GPUs given to the others
	for _, t := range ts {
		for _, s := range t.Placement {
			jobs[s.Node]++
			if t.Kept() && t.HasGPUs() {
				kept[s.Node]++
			}
		}
	}
	for _, t := range ts {
		if t.Paused() {
			fmt.Fprintf(&paused, "%s: %s\n", comment(t.Name), comment(t.Reason))
			continue
		}
		if err := t.expressible("torchrun", true, false); err != nil {
			return nil, err
		}
		by := ownScript{task: t, Devices: map[string]string{}, Port: firstPort + crc32.ChecksumIEEE([]byte(t.ID))%ports}
		for used[by.Port] {
			by.Port = firstPort + (by.Port-firstPort+1)%ports
		}
		used[by.Port] = len(used) < ports-1
		for _, s := range t.Placement {
			var gpus []string
			for i := range s.Workers {
				gpus = append(gpus, strconv.Itoa(given[s.Node]+i))
			}
			given[s.Node] += s.Workers
			switch {
			case jobs[s.Node] == 1 || !t.HasGPUs():
			case kept[s.Node] > 0:
				by.Devices[s.Node] = fmt.Sprintf("?set it to %s that no other job uses: some keep running here, and no plan records theirs", english.Plural(s.Workers, "GPU", ""))
			default:
				by.Devices[s.Node] = "-" + strings.Join(gpus, ",")
			}
		}
		f, err := script(t.ID+".torchrun.sh", "torchrun.sh", by)
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

// Ports of rendezvous: from torchrun's own to those that Linux hands out.
const firstPort, ports = 29500, 32768 - 29500

// ownScript is a job with the GPUs it gets on nodes that it shares, and its port.
type ownScript struct {
	task
	Devices map[string]string // by node: what the shell does if CUDA_VISIBLE_DEVICES is not set
	Port    uint32
}

// NodeRange is "fewest:most" nodes of an elastic job, empty if it cannot be elastic.
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
